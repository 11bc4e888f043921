// Rules of the source tree that a linter does not check: layers, reserved imports, and headers.

import { expect, test } from "bun:test";
import { dirname, join, normalize } from "node:path";
import { Glob } from "bun";
import { rowsOf } from "../../support/markdown.ts";

const root = new URL("../../..", import.meta.url).pathname;

/** Copies of packages: scripts/vendored.ts. */
const vendored = ["src/console/page/library.js", "src/core/observability/opentelemetry.js"];
const sources = (await readFiles("src/**/*.{js,ts}", "packages/*/src/**/*.{js,ts}")).filter(
  ({ path }) => !isWithin(path, vendored),
);

/** The layers from the lowest up: a file imports from its own layer and from those below. */
const layers: readonly (readonly string[])[] = [
  ["packages/client/src"],
  ["packages/sandbox/src"],
  ["src/core/operator-error.ts"],
  ["src/core/contract"],
  ["src/contract-file"],
  // Above the contract and below the server, of which it imports nothing.
  ["src/conformance"],
  [
    "src/core/long-body.ts",
    "src/core/loopback.ts",
    "src/core/time-limit.ts",
    "src/core/coalesced-work.ts",
    "src/core/observability/terminal.ts",
  ],
  ["src/core/observability"],
  ["src/core/store"],
  ["src/core/auth"],
  ["src/core/http", "src/core/admin"],
  ["src/core/server.ts"],
  ["src/admin-pages"],
  ["src/docs-page"],
  ["src/operations"],
  ["src/collection-operations"],
  ["src/console"],
  ["src/sandbox"],
  ["src/cli", "src/index.ts"],
];

/** Imports and calls that are allowed in some files only, or in none, and what to use instead. */
const reserved: readonly [pattern: RegExp, only: string | readonly string[], instead: string][] = [
  [/"bun:sqlite"/, "src/core/store/sqlite/driver.ts", "import from ./driver.ts"],
  [/"bun:ffi"/, "", "use what Bun and node: offer"],
  [/"pg"/, "src/core/store/postgres/driver.ts", "import from ./driver.ts"],
  [/"lossless-json"/, "packages/client/src/exact-json.ts", "use src/core/contract/json"],
  [/"sonic-boom"/, "src/core/observability/log.ts", "emit a ServerEvent"],
  [
    /"hono(?:\/|")/,
    [
      "src/admin-pages/static-files.ts",
      "src/console/console-app.ts",
      "src/console/session/sessions.ts",
      "src/sandbox/access.ts",
      "src/sandbox/control.ts",
    ],
    "pass AdminRoutes",
  ],
  [/"@opentelemetry\//, "src/core/observability/opentelemetry.d.ts", "emit a ServerEvent"],
  [/\/opentelemetry\.js"/, "src/core/observability/tracing.ts", "emit a ServerEvent"],
  [/\bprocess\.exit\(/, "src/cli/process/host.ts", "throw an OperatorError, or set process.exitCode"],
  [
    /\bconsole\.\w+\(/,
    "src/docs-page/code-samples.ts",
    "emit a ServerEvent, or use src/cli/process/output.ts",
  ],
  [
    /\b(?:Bun|process)\.stdout\b/,
    ["src/cli/process/host.ts", "src/conformance/package-main.ts"],
    "use src/cli/process/output.ts",
  ],
  [/\bMath\.random\(/, "", "take randomness as an argument"],
];

/** Unit tests have no socket, no process and no pause. */
const integration =
  /\bBun\.(?:serve|listen|connect|spawn|spawnSync|sleep)\(|\bfetch\(|"node:(?:net|http|child_process)"/;

async function readFiles(...patterns: readonly string[]): Promise<{ path: string; text: string }[]> {
  const paths = patterns.flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: root })]);
  return Promise.all(
    paths
      .filter((path) => !path.includes("node_modules/"))
      .toSorted()
      .map(async (path) => ({ path, text: await Bun.file(`${root}/${path}`).text() })),
  );
}

/** Whether a path is one of the files or is below one of the folders. */
function isWithin(path: string, parents: readonly string[]): boolean {
  return parents.some((parent) => path === parent || path.startsWith(`${parent}/`));
}

function findLayer(path: string): number {
  return layers.findIndex((parents) => isWithin(path, parents));
}

function findImports(path: string, text: string): string[] {
  return [...text.matchAll(/(?:from |import\()"(\.{1,2}\/[^"]+)"/g)]
    .map(([, specifier = ""]) => normalize(join(dirname(path), specifier)))
    .filter((imported) => /^(?:src|packages)\//.test(imported));
}

test("imports point one way, from higher layers to lower ones", () => {
  const upward = sources.flatMap(({ path, text }) =>
    findImports(path, text)
      .filter((imported) => findLayer(imported) > findLayer(path) || findLayer(imported) === -1)
      .map((imported) => `${path} -> ${imported}`),
  );
  expect(upward).toEqual([]);
});

test("there are no cycles between files, also not of types", () => {
  const imports = new Map(sources.map(({ path, text }) => [path, findImports(path, text)]));
  // Files that import nothing that is left are taken away, until none is: what remains imports in
  // circles.
  for (let before = -1; before !== imports.size; ) {
    before = imports.size;
    for (const [path, imported] of imports)
      if (!imported.some((each) => imports.has(each))) imports.delete(path);
  }
  expect([...imports.keys()]).toEqual([]);
});

test("no engine imports another engine, nor what they share an engine", () => {
  const engineOf = (path: string) => /^src\/core\/store\/([^/]+)\//.exec(path)?.[1];
  const across = sources.flatMap(({ path, text }) => {
    const engine = engineOf(path);
    return findImports(path, text)
      .filter((imported) => {
        const other = engineOf(imported);
        return ![undefined, "shared", engine].includes(other) && engine !== undefined;
      })
      .map((imported) => `${path} -> ${imported}`);
  });
  expect(across).toEqual([]);
});

test("reserved imports and calls are in their file only", () => {
  const strays = reserved.flatMap(([pattern, only, instead]) =>
    sources
      .filter(({ path, text }) => ![only].flat().includes(path) && pattern.test(text))
      .map(({ path }) => `${path} has ${pattern.source}: ${instead}`),
  );
  expect(strays).toEqual([]);
});

test("unit tests open no socket, start no process, and do not sleep", async () => {
  const strays = (await readFiles("test/unit/**/*.test.ts"))
    .filter(({ text }) => integration.test(text))
    .map(({ path }) => path);
  expect(strays).toEqual([]);
});

test("the text that a mutant replaces is once in its file", async () => {
  const table = await Bun.file(join(root, "test/long/mutants/mutants.md")).text();
  const rows = rowsOf(table, /^\| `/).map((cells) => cells.map((cell) => cell.replace(/^`|`$/g, "")));
  const lost = rows.filter(([file, text = ""]) => {
    const source = sources.find(({ path }) => path === `src/core/${file}`)?.text ?? "";
    return source.split(text).length !== 2;
  });
  expect(lost).toEqual([]);
});

test("a file has a header sentence, and no TODO", () => {
  const violations = sources
    .filter(({ path }) => !path.endsWith(".d.ts"))
    .flatMap(({ path, text }) => [
      ...(text.startsWith("// ") ? [] : [`${path}: no header sentence`]),
      ...(/\b(?:TODO|FIXME|XXX|HACK)\b/.test(text) ? [`${path}: a TODO`] : []),
    ]);
  expect(violations).toEqual([]);
});
