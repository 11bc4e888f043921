// The interface description as it is served, also in OpenAPI 3.0 for tools that read no 3.1.

import { toOpenApi30 } from "../core/contract/openapi-3.0.ts";
import { openapi } from "../core/contract/plant.ts";

/** The address in openapi.yaml that is replaced by this server's. */
const placeholder = openapi.servers[0]?.url ?? "";

/** Make the documents, with the placeholder, when they are first requested: it takes some ms. */
const makers = {
  "openapi.json": () => JSON.stringify(openapi),
  // Not the file's text: a bundle has one module for a file, which is its value.
  "openapi.yaml": () => Bun.YAML.stringify(openapi, null, 2),
  "openapi-3.0.json": () => JSON.stringify(toOpenApi30(openapi)),
};

export type DocumentName = keyof typeof makers;

export const documentNames = Object.keys(makers) as DocumentName[];

const templates = new Map<DocumentName, string>();

function templateOf(name: DocumentName): string {
  let template = templates.get(name);
  if (template === undefined) {
    template = makers[name]();
    templates.set(name, template);
  }
  return template;
}

/** RFC 9512, section 2. */
export const contentTypes: Readonly<Record<DocumentName, string>> = {
  "openapi.json": "application/json",
  "openapi.yaml": "application/yaml",
  "openapi-3.0.json": "application/json",
};

/** One text of each document in memory, with the address that was asked for last. */
export class OpenApiDocuments {
  #url = "";
  readonly #bodies = new Map<DocumentName, Blob>();

  /** A document with the base address of the server. */
  get(name: DocumentName, url: string): Blob {
    if (url !== this.#url) {
      this.#url = url;
      this.#bodies.clear();
    }
    let body = this.#bodies.get(name);
    if (body === undefined) {
      body = new Blob([templateOf(name).replaceAll(placeholder, () => escapeUrl(url))]);
      this.#bodies.set(name, body);
    }
    return body;
  }
}

/** Characters of a URL that JSON, YAML or a shell would read otherwise (RFC 3986, section 2.1). */
export function escapeUrl(url: string): string {
  return url.replace(
    /["'$\\`<>\s]/g,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`,
  );
}
