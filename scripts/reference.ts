// npm run update:reference: writes the tables of settings, limits, commands, errors, metrics and log
// lines into docs/, each between two comments, and the contract that openapi.yaml makes into
// src/openapi/plant-store.json.

import { join } from "node:path";
import type { Command } from "commander";
import { Metrics } from "../src/admin/metrics.ts";
import { errorRegistry } from "../src/base/errors.ts";
import { loadCommands } from "../src/cli/main.ts";
import { compiledJson, plantStoreSource } from "../src/openapi/default-contract.ts";
import { readContract } from "../src/openapi/description/read-contract.ts";
import { groups, serverSettingNames, settings } from "../src/process/config/settings.ts";
import { type LoggedEvent, lineOf } from "../src/process/log/log-lines.ts";

const root = new URL("..", import.meta.url).pathname;
const textOf = (path: string) => Bun.file(join(root, path)).text();

/** A limit that no setting changes: the file and the name of its constant, and the words for it. */
type FixedLimit = readonly [file: string, constant: string, limit: string, beyond: string];

const fixedLimits: readonly FixedLimit[] = [
  ["contract/contract.ts", "pagePlantsMax", "resources of a page", "more are on the next page"],
  [
    "plants/operation-settings.ts",
    "pageBytesMax",
    "bytes of a page",
    "the others are on the next page; 40004 for a page asked for by its number",
  ],
  [
    "store/shared/page.ts",
    "listMsMax",
    "milliseconds of a list",
    "with a cursor a shorter page, after which the next one goes on; otherwise 40004",
  ],
  ["plants/list-filters.ts", "searchMax", "characters of a search", "40004"],
  ["plants/list-filters.ts", "valuesMax", "values of one filter", "40004"],
  ["contract/list-order.ts", "termsMax", "properties to sort by", "40004"],
  ["plants/new-ids.ts", "keyCharactersMax", "characters of an `Idempotency-Key`", "40004"],
  [
    "openapi/description/fields.ts",
    "bytesMaxDefault",
    "bytes of an id that is a text, without `maxLength`",
    "40002",
  ],
  [
    "openapi/description/fields.ts",
    "describedBytesMax",
    "bytes of an id that is a text, with `maxLength`",
    "40002",
  ],
  ["json/decimal.ts", "decimalDigitsMax", "digits of a number that is not an integer", "40002"],
  [
    "store/postgres/plants.ts",
    "rowBytesMax",
    "bytes of a row of PostgreSQL, in which a long text counts as its compressed size or as a pointer",
    "41300",
  ],
  ["plants/edit-one.ts", "attemptsMax", "attempts of a change that others overtake", "50300"],
  ["auth/jwt-verifier.ts", "subjectCharactersMax", "characters of the `sub` of a JWT", "40101"],
  [
    "openapi/document/description-text.ts",
    "codeUnitsMax",
    "characters of a description",
    "the server does not start",
  ],
  ["openapi/description/fields.ts", "fieldsMax", "properties of a collection", "it is not served"],
  [
    "transfer/content.ts",
    "unpackedTimesMax",
    "times the size of a gzip that is imported",
    "import it unpacked",
  ],
  ["process/config/sources.ts", "fileBytesMax", "bytes of a configuration file", "the command fails"],
  [
    "console/calls/plant-changes.ts",
    "plantsMax",
    "resources that the console changes at once",
    "select fewer, or import",
  ],
  ["sandbox/request-log.ts", "requestsMax", "requests in the log of a sandbox", "the oldest are dropped"],
  ["sandbox/request-log.ts", "logBytesMax", "bytes of that log", "the oldest are dropped"],
  ["sandbox/received-request.ts", "bodyBytesMax", "bytes of a body in that log", "it is cut"],
  ["sandbox/received-request.ts", "startBytesMax", "bytes of a response in that log", "it is cut"],
  ["sandbox/rules.ts", "rulesMax", "rules of a sandbox", "409"],
  ["sandbox/prefer.ts", "delaySecondsMax", "seconds of a `delay`", "40010"],
];

/** What an operator does about each line of the log. */
const advice: Readonly<Record<Exclude<LoggedEvent["kind"], "notice">, string>> = {
  storeUnavailable:
    "Look at `reason`: a full disk, a failed write, a database that cannot be reached. The server goes on by itself.",
  storeTaskFailed: "Look at `reason`. Creates go on; SQLite's write-ahead log may grow meanwhile.",
  operationFailed: "Look at `reason`: the request got an error.",
  idsExhausted: "Delete resources, or let the contract allow more ids.",
  storeWaiting: "Nothing, unless it lasts: the database is starting or failing over, or a lock is held.",
  tokenReloadFailed: "Look at `reason`. New tokens get 503 until the store can be read.",
  traceExportFailed: "Check the collector at `--otlp-endpoint`.",
  connectionsShed: "Raise `--connections-max` and `LimitNOFILE`, or look for a client that opens too many.",
  jwksRefreshFailed: "Check the identity provider. Tokens with keys that are known stay accepted.",
  certificateEnds: "Renew it, and restart the server.",
  contractChanged: "Nothing.",
  contractRefused: "Start it with the contract of the store: without `--contract`, or with the new file.",
  storeFailed: "After a failed fsync check the disk, then restart: that recovers the store. Exit code 1.",
  internalError: "Report it, with the stack.",
};

const plantStorePage = "src/openapi/plant-store.json";

/** Writes the generated parts of a page anew. */
export async function renderPage(page: string): Promise<string> {
  if (page === plantStorePage) return `${compiledJson(await readContract(plantStoreSource))}\n`;
  let text = await textOf(page);
  for (const [, name, render] of parts.filter(([path]) => path === page)) {
    const [start, end] = [`<!-- update:reference ${name} -->\n`, "<!-- end -->"];
    const [before, rest = ""] = text.split(start);
    const after = rest.slice(rest.indexOf(end));
    text = `${before}${start}\n${await render()}\n${after}`;
  }
  return text;
}

const parts: readonly (readonly [page: string, name: string, render: () => string | Promise<string>])[] = [
  ["docs/commands.md", "commands", renderCommands],
  ["docs/commands.md", "flags", renderFlags],
  ["docs/configuration.md", "settings", renderSettings],
  ["docs/configuration.md", "limits", renderLimits],
  ["docs/errors.md", "errors", renderErrors],
  ["docs/monitoring.md", "metrics", renderMetrics],
  ["docs/monitoring.md", "log", renderLog],
];

export const pages = new Set([plantStorePage, ...parts.map(([page]) => page)]);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |\n`;
  return [head, head.map(() => "---"), ...rows].map(line).join("");
}

const code = (text: string) => (text === "" ? "" : `\`${text}\``);

function renderSettings(): string {
  return Object.entries(groups)
    .map(([heading, members]) => {
      const rows = serverSettingNames
        .filter((name) => name in members)
        .map((name) => {
          const { flag, environment, default: text = "", description } = settings[name];
          return [code(flag), code(environment), code(text), description];
        });
      return `**${heading.replace(/:$/, "")}**\n\n${table(["Flag", "Environment", "Default", ""], rows)}`;
    })
    .join("\n");
}

async function renderLimits(): Promise<string> {
  const rows = fixedLimits.map(async ([file, constant, limit, beyond]) => {
    const [, value] =
      new RegExp(`\\bconst ${constant} = ([\\d_ *+]+);`).exec(await textOf(`src/${file}`)) ?? [];
    if (value === undefined) throw new Error(`src/${file} has no number ${constant}`);
    return [Number(new Function(`return ${value}`)()).toLocaleString("en"), limit, beyond];
  });
  return table(["At most", "", "Beyond it"], await Promise.all(rows));
}

function renderErrors(): string {
  const rows = Object.entries(errorRegistry).map(([name, { error, meaning, remedy }]) => [
    String(error),
    code(name),
    meaning,
    remedy,
  ]);
  return table(["error", "name", "meaning", "what to do"], rows);
}

/** All commands with their names; one that only has others is not one itself. */
async function everyCommand(): Promise<(readonly [name: string, command: Command])[]> {
  const inside = (command: Command, parents: string): (readonly [string, Command])[] => {
    const name = `${parents} ${command.name()}`;
    return command.commands.length === 0
      ? [[name, command]]
      : command.commands.flatMap((each) => inside(each, name));
  };
  return (await loadCommands()).flatMap((command) => inside(command, "plantstore"));
}

async function renderCommands(): Promise<string> {
  const rows = (await everyCommand()).map(([name, command]) => {
    const usage = command.usage().replace(/^\[options\] ?/, "");
    return [code(`${name} ${usage}`.trim()), command.description()];
  });
  return table(["Command", ""], rows);
}

async function renderFlags(): Promise<string> {
  const left = new Set(["config" as const, ...serverSettingNames].map((name) => settings[name].flag));
  const commandsByFlag = new Map<string, string[]>();
  for (const [name, { options }] of await everyCommand())
    for (const { flags, description } of options.filter((each) => !left.has(each.flags))) {
      const row = [code(flags), description.replace(/ \([^()]*env: \w+\)$/, "")].join("\n");
      const commands = commandsByFlag.get(row) ?? [];
      commandsByFlag.set(row, [...commands, code(name.replace("plantstore ", ""))]);
    }
  const rows = [...commandsByFlag].map(([row, commands]) => [...row.split("\n"), commands.join(", ")]);
  return table(["Flag", "", "Of"], rows);
}

async function renderMetrics(): Promise<string> {
  const none = () => undefined;
  const gauges = {
    operations: () =>
      ["a", "b"].map((collection) => ({ operationId: "", path: "", serves: { collection, action: "" } })),
    queuedPlants: () => 0,
    nodesUp: () => new Map([["", true]]),
    bodyBytesInFlight: () => 0,
    connections: none,
    certificateExpiresAt: () => 0,
    storeBytes: async () => undefined,
    walBytes: none,
  };
  const text = await new Metrics(gauges, { version: "", bun: "", engine: "" }).text();
  const rows = [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (.*)$/gm)].map(
    ([, name = "", help = "", type = ""]) => {
      const samples = text.matchAll(new RegExp(`^${name}(?:_bucket)?\\{(.*)\\}`, "gm"));
      const labels = [...samples].flatMap(([, pairs = ""]) => pairs.match(/\w+(?==)/g) ?? []);
      const own = [...new Set(labels)].filter((label) => label !== "le").map(code);
      return [code(name), type, own.join(", "), help];
    },
  );
  return table(["Metric", "Type", "Labels", ""], rows);
}

function renderLog(): string {
  const rows = Object.entries(advice).map(([kind, what]) => {
    const { level, message } = lineOf({ kind } as LoggedEvent);
    return [level, message, what];
  });
  return table(["Level", "`msg`", "What to do"], rows);
}

if (import.meta.main) for (const page of pages) await Bun.write(join(root, page), await renderPage(page));
