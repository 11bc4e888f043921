// The interface description as it is served, also in OpenAPI 3.0 for tools that read no 3.1.

import type { Contract } from "../core/contract/contract.ts";
import type { Operation } from "../core/http/operation.ts";
import { toOpenApi30 } from "./openapi-3.0.ts";
import type { DocumentName } from "./paths.ts";
import { placeholder, servedDocument } from "./served-document.ts";

/** Make the documents, with the placeholder, when they are first requested: it takes some ms. */
const makers: Readonly<Record<DocumentName, (description: object) => string>> = {
  "openapi.json": (description) => JSON.stringify(description),
  // A copy, in which no parts are shared: Bun would write them as aliases, which few tools expect.
  "openapi.yaml": (description) => Bun.YAML.stringify(JSON.parse(JSON.stringify(description)), null, 2),
  "openapi-3.0.json": (description) => JSON.stringify(toOpenApi30(description)),
};

/** RFC 9512, section 2. */
export const contentTypes: Readonly<Record<DocumentName, string>> = {
  "openapi.json": "application/json",
  "openapi.yaml": "application/yaml",
  "openapi-3.0.json": "application/json",
};

/** Returns the contract as it is served, in all formats. */
export function openApiDocuments(
  contract: Contract,
  operations: readonly Operation[],
  basePath: string,
): (name: DocumentName, url: string) => string {
  const templates: Partial<Record<DocumentName, string>> = {};
  return (name, url) => {
    templates[name] ??= makers[name](servedDocument(contract, operations, basePath));
    return templates[name].replaceAll(placeholder, () => escapeUrl(url));
  };
}

/** Characters of a URL that JSON, YAML or a shell would read otherwise (RFC 3986, section 2.1). */
export function escapeUrl(url: string): string {
  return url.replace(
    /["'$\\`<>\s]/g,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`,
  );
}
