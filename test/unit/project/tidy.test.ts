// Rules of the source tree that a linter does not check: layers, reserved imports, and headers.

import { expect, test } from "bun:test";
import { findImports, findLayer, readFiles, readSources } from "../../../scripts/layers.ts";
import { readMutants } from "../../long/mutants/mutants.ts";

const sources = await readSources();

/** Imports and calls that are allowed in some files only, or in none, and what to use instead. */
const reserved: readonly [pattern: RegExp, only: string | readonly string[], instead: string][] = [
  [/"bun:sqlite"/, "src/store/sqlite/driver.ts", "import from ./driver.ts"],
  [/"bun:ffi"/, "", "use what Bun and node: offer"],
  [/"pg"/, "src/store/postgres/driver.ts", "import from ./driver.ts"],
  [/"lossless-json"/, "packages/client/src/exact-json.ts", "use src/json"],
  [/"sonic-boom"/, "src/process/log/log.ts", "emit a ServerEvent"],
  [
    /"hono(?:\/|")/,
    [
      "src/admin-pages/static-files.ts",
      "src/console/console-app.ts",
      "src/console/session/sessions.ts",
      "src/sandbox/access.ts",
      "src/sandbox/control.ts",
      "src/sandbox/described-operations/described-responses.ts",
    ],
    "pass AdminRoutes",
  ],
  [/"@opentelemetry\//, "src/process/log/opentelemetry.d.ts", "emit a ServerEvent"],
  [/\/opentelemetry\.js"/, "src/process/log/tracing.ts", "emit a ServerEvent"],
  [/\bprocess\.exit\(/, "src/process/host.ts", "throw an OperatorError, or set process.exitCode"],
  [/\bconsole\.\w+\(/, "src/docs-page/code-samples.ts", "emit a ServerEvent, or use src/process/output.ts"],
  [
    /\b(?:Bun|process)\.stdout\b/,
    ["src/process/host.ts", "packages/conformance/src/package-main.ts"],
    "use src/process/output.ts",
  ],
  [/\bMath\.random\(/, "", "take randomness as an argument"],
];

/** Unit tests have no socket, no process and no pause. */
const integration =
  /\bBun\.(?:serve|listen|connect|spawn|spawnSync|sleep)\(|\bfetch\(|"node:(?:net|http|child_process)"/;

test("imports point one way, from higher layers to lower ones", () => {
  const upward = sources.flatMap((source) =>
    findImports(source)
      .filter((imported) => findLayer(imported) > findLayer(source.path) || findLayer(imported) === -1)
      .map((imported) => `${source.path} -> ${imported}`),
  );
  expect(upward).toEqual([]);
});

test("there are no cycles between files, also not of types", () => {
  const imports = new Map(sources.map((source) => [source.path, findImports(source)]));
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
  const across = sources.flatMap((source) => {
    const engine = engineOf(source.path);
    return findImports(source)
      .filter((imported) => {
        const other = engineOf(imported);
        return ![undefined, "shared", engine].includes(other) && engine !== undefined;
      })
      .map((imported) => `${source.path} -> ${imported}`);
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
  const lost = readMutants().filter(
    ({ file, text }) => sources.find(({ path }) => path === file)?.text.split(text).length !== 2,
  );
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
