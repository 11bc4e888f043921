// Writes the description of the interface in JSON and in YAML.

import { toExactJson } from "../json/exact-json.ts";
import { ExactNumber, numberText } from "../json/json-values.ts";
import type { Description } from "./description.ts";
import type { DocumentName } from "./paths.ts";
import { escapeUrl, placeholder } from "./server-address.ts";

/** Make the documents, with the placeholder, when they are first requested: it takes some ms. */
const makers: Readonly<Record<DocumentName, (description: object) => string>> = {
  "openapi.json": (description) => toExactJson(description),
  "openapi.yaml": toYaml,
};

/** YAML as Bun writes it, in which a number that a double does not hold has its digits. */
function toYaml(description: object): string {
  const numbers: string[] = [];
  // A copy, in which no parts are shared: Bun would write them as aliases, which few tools expect.
  const copy = JSON.parse(
    JSON.stringify(description, (_, value) => {
      const isExact = typeof value !== "bigint" && !(value instanceof ExactNumber);
      return isExact ? value : `plantstore-number-${numbers.push(numberText(value) as string) - 1}`;
    }),
  );
  const yaml = Bun.YAML.stringify(copy, null, 2);
  return yaml.replaceAll(/plantstore-number-(\d+)/g, (_, index) => numbers[Number(index)] ?? "");
}

/** RFC 9512, section 2. */
export const contentTypes: Readonly<Record<DocumentName, string>> = {
  "openapi.json": "application/json",
  "openapi.yaml": "application/yaml",
};

/**
 * Returns what writes the contract as it is served, in all formats, as the parts of its text. Those
 * between the addresses are held once for all responses: GitHub's description has 13 MB.
 */
export function openApiDocuments(
  description: () => Description,
): (name: DocumentName, url: string) => readonly Uint8Array[] {
  const templates: Partial<Record<DocumentName, readonly Uint8Array[]>> = {};
  const encoder = new TextEncoder();
  return (name, url) => {
    templates[name] ??= makers[name](description())
      .split(placeholder)
      .map((part) => encoder.encode(part));
    const address = encoder.encode(escapeUrl(url));
    return templates[name].flatMap((part, index) => (index === 0 ? part : [address, part]));
  };
}
