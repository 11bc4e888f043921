// The output of a start: a banner on a terminal, otherwise the URL; at first also the token.

import { sampleBody } from "../core/contract/plant.ts";
import { paint, printable } from "../core/observability/terminal.ts";
import { productName } from "../product.ts";

/** The base URLs of a server; undefined for a part that is off. */
export interface ServerAddresses {
  readonly url: string;
  readonly adminUrl: string | undefined;
  readonly documentationUrl: string | undefined;
  readonly consoleUrl: string | undefined;
}

export interface StartedServer extends ServerAddresses {
  readonly version: string;
  /** The base URL that clients use, if the server is behind a proxy. */
  readonly publicUrl: string | undefined;
  /** The file or the hosts of the store. */
  readonly store: string;
  /** The settings that differ from their defaults, as flags. */
  readonly changed: readonly string[];
}

export interface Terminal {
  readonly columns: number;
  readonly colours: boolean;
}

/** A label of at most the length of the longest, and its value. */
export type Row = readonly [label: string, value: string];

/** The longest label and two spaces. */
const labelWidth = "Documentation  ".length;
const indent = "  ";

/** The lines for a terminal: where the server is, and how to use its first token. */
export function bannerLines(server: StartedServer, token: string | undefined, terminal: Terminal): string[] {
  const { version, url, publicUrl, documentationUrl, consoleUrl, store, changed } = server;
  const rows: Row[] = [
    ["Interface", `${url}/plants`],
    ...(publicUrl === undefined ? [] : [["Public URL", publicUrl] as const]),
    ["Documentation", documentationUrl ?? "off"],
    ["Console", consoleUrl ?? "off"],
    ["Store", printable(store)],
    ["Settings", printable(formatChanged(changed, valueWidth(terminal)))],
  ];
  return formatBanner(
    `${productName} ${version}`,
    rows,
    terminal,
    token === undefined ? [] : firstTokenLines(token, url),
  );
}

/** A title, rows of a label and a value, and other lines. */
export function formatBanner(
  title: string,
  rows: readonly Row[],
  terminal: Terminal,
  others: readonly string[] = [],
): string[] {
  return ["", paint(title, "bold", terminal.colours), "", ...formatRows(rows, terminal), ...others, ""];
}

/** Formats rows for a terminal or, as plain lines, for a program. */
export function formatRows(rows: readonly Row[], terminal: Terminal | undefined): string[] {
  if (terminal === undefined) return rows.map(([label, value]) => label.padEnd(labelWidth) + value);
  const width = valueWidth(terminal);
  return rows.flatMap(([label, value]) => formatRow(label, value, width, terminal.colours));
}

function valueWidth({ columns }: Terminal): number {
  return columns - indent.length - labelWidth;
}

/** The lines for a program: the URL is the first one. */
export function plainLines(server: StartedServer, token: string | undefined): string[] {
  const { url, documentationUrl, consoleUrl } = server;
  if (token === undefined) return [url];
  return [
    url,
    ...firstTokenLines(token, url),
    ...(documentationUrl === undefined ? [] : ["", `or in a browser: ${documentationUrl}`]),
    ...(consoleUrl === undefined ? [] : ["", `The console is at ${consoleUrl}`]),
    "",
  ];
}

/** Never cuts a value: on a narrow terminal it gets its own line. */
function formatRow(label: string, value: string, valueWidth: number, colours: boolean): string[] {
  if (value.length > valueWidth) return [indent + paint(label, "dim", colours), indent + indent + value];
  return [indent + paint(label.padEnd(labelWidth), "dim", colours) + value];
}

/** The settings if they fit on the line, or their number. */
function formatChanged(changed: readonly string[], width: number): string {
  if (changed.length === 0) return "defaults";
  const all = changed.join(" ");
  return all.length <= width ? all : `${changed.length} changed`;
}

/**
 * Has no indent, so that no line exceeds 80 columns. README.md has the same command. curl prints
 * the newline that the response lacks.
 */
function firstTokenLines(token: string, url: string): string[] {
  return [
    "",
    "This store is new. Its first token, shown only once:",
    "",
    `  ${token}`,
    "",
    "Create a plant with it, in another terminal:",
    "",
    `curl -i -w '\\n' ${url}/plants \\`,
    `  -H 'Authorization: Bearer ${token}' \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${sampleBody(9_007_199_254_740_993n)}'`,
  ];
}
