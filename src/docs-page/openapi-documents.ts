// The interface description as it is served, also in OpenAPI 3.0 for tools that read no 3.1.

import openapi from "../../openapi.yaml";
import { toOpenApi30 } from "./openapi-3.0.ts";

/** The address in openapi.yaml that is replaced by this server's. */
export const placeholder = openapi.servers[0]?.url ?? "";

/** Make the documents, with the placeholder, when they are first requested: it takes some ms. */
const makers = {
  "openapi.json": () => JSON.stringify(openapi),
  // Not the file's text: a bundle has one module for a file, which is its value.
  "openapi.yaml": () => Bun.YAML.stringify(openapi, null, 2),
  "openapi-3.0.json": () => JSON.stringify(toOpenApi30(openapi)),
};

export type DocumentName = keyof typeof makers;

export const documentNames = Object.keys(makers) as DocumentName[];

const templates: Partial<Record<DocumentName, string>> = {};

/** RFC 9512, section 2. */
export const contentTypes: Readonly<Record<DocumentName, string>> = {
  "openapi.json": "application/json",
  "openapi.yaml": "application/yaml",
  "openapi-3.0.json": "application/json",
};

export function openApiDocument(name: DocumentName, url: string): string {
  templates[name] ??= makers[name]();
  return templates[name].replaceAll(placeholder, () => escapeUrl(url));
}

/** Characters of a URL that JSON, YAML or a shell would read otherwise (RFC 3986, section 2.1). */
export function escapeUrl(url: string): string {
  return url.replace(
    /["'$\\`<>\s]/g,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`,
  );
}
