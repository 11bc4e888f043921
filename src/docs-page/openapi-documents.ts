// The interface description as it is served, also in OpenAPI 3.0 for tools that read no 3.1.

import type { Description } from "./description.ts";
import { toOpenApi30 } from "./openapi-3.0.ts";
import type { DocumentName } from "./paths.ts";
import { escapeUrl, placeholder } from "./server-address.ts";

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
  description: () => Description,
): (name: DocumentName, url: string) => string {
  const templates: Partial<Record<DocumentName, string>> = {};
  return (name, url) => {
    templates[name] ??= makers[name](description());
    return templates[name].replaceAll(placeholder, () => escapeUrl(url));
  };
}
