// Writes the lines that a start prints: a banner on a terminal, otherwise the URL; at first also
// the token.

import { shellWord, singleQuoted } from "../base/shell.ts";
import { paint, printable } from "../base/terminal.ts";
import { fieldValue, tokenField } from "../contract/access.ts";
import type { Collection, Contract } from "../contract/contract.ts";
import { sampleBody } from "../contract/plant.ts";
import { withArticle } from "../contract/words.ts";

/** The base URLs of a server; undefined for a part that is off. */
export interface ServerAddresses {
  readonly url: string;
  readonly adminUrl: string | undefined;
  readonly documentationUrl: string | undefined;
  readonly consoleUrl: string | undefined;
}

export interface StartedServer extends ServerAddresses {
  readonly contract: Contract;
  readonly version: string;
  /** The base URL that clients use, if the server is behind a proxy. */
  readonly publicUrl: string | undefined;
  /** The file or the hosts of the store. */
  readonly store: string;
  /** The settings that differ from their defaults, as flags. */
  readonly changed: readonly string[];
}

/** A label of at most the length of the longest, and its value. */
export type Row = readonly [label: string, value: string];

/** The longest label and two spaces. */
const labelWidth = "Documentation  ".length;

/** The lines for a terminal: where the server is, and how to use its first token. */
export function bannerLines(server: StartedServer, token: string | undefined, colours: boolean): string[] {
  const { contract, version, url, publicUrl, documentationUrl, consoleUrl, store, changed } = server;
  const rows: Row[] = [
    ...interfaceRows(contract, url),
    ...(publicUrl === undefined ? [] : [["Public URL", publicUrl] as const]),
    ["Documentation", documentationUrl ?? "off"],
    ["Console", consoleUrl ?? "off"],
    ["Store", printable(store)],
    ["Settings", printable(changed.join(" ")) || "defaults"],
  ];
  const others = token === undefined ? [] : firstTokenLines(contract, token, url);
  return [...formatBanner(`${printable(contract.service)} ${version}`, rows, colours), ...others, ""];
}

/** The URLs of the collections, or the base URL of a sandbox that has none. */
export function interfaceRows({ collections }: Contract, url: string): Row[] {
  const paths = collections.length === 0 ? [""] : collections.map(({ path }) => path);
  return paths.map((path, index) => [index === 0 ? "Interface" : "", url + path]);
}

/** A title, and rows of a label and a value. */
export function formatBanner(title: string, rows: readonly Row[], colours: boolean): string[] {
  const lines = rows.map(([label, value]) => `  ${paint(label.padEnd(labelWidth), "dim", colours)}${value}`);
  return ["", paint(title, "bold", colours), "", ...lines];
}

/** Rows as plain lines, for a program. */
export function plainRows(rows: readonly Row[]): string[] {
  return rows.map(([label, value]) => label.padEnd(labelWidth) + value);
}

/** The lines for a program: the URL is the first one. */
export function plainLines(server: StartedServer, token: string | undefined): string[] {
  const { contract, url, documentationUrl, consoleUrl } = server;
  if (token === undefined) return [url];
  return [
    url,
    ...firstTokenLines(contract, token, url),
    ...(documentationUrl === undefined ? [] : ["", `or in a browser: ${documentationUrl}`]),
    ...(consoleUrl === undefined ? [] : ["", `The console is at ${consoleUrl}`]),
    "",
  ];
}

/**
 * Has no indent, so that no line exceeds 80 columns. README.md has the same command. curl prints
 * the newline that the response lacks.
 */
function firstTokenLines(contract: Contract, token: string, url: string): string[] {
  const collection = contract.collections[0] as Collection;
  const field = tokenField(collection.operations.create.access);
  return [
    "",
    "This store is new. Its first token, shown only once:",
    "",
    `  ${token}`,
    "",
    `Create ${withArticle(collection.words.one)} with${field === undefined ? "out" : ""} it, in another terminal:`,
    "",
    `curl -i -w '\\n' ${shellWord(url + collection.path)} \\`,
    ...(field === undefined ? [] : [`  -H ${singleQuoted(`${field[0]}: ${fieldValue(field, token)}`)} \\`]),
    "  -H 'Content-Type: application/json' \\",
    `  -d ${singleQuoted(sampleBody(collection, 9_007_199_254_740_993n))}`,
  ];
}
