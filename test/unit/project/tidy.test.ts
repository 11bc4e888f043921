// The rules of the house that no linter knows.

import { expect, test } from "bun:test";
import { dirname, join, normalize } from "node:path";
import { Glob } from "bun";

const root = new URL("../../..", import.meta.url).pathname;
const sources = await Promise.all(
  [...new Glob("src/**/*.{js,ts}").scanSync({ cwd: root })]
    .toSorted()
    .map(async (path) => ({ path, text: await Bun.file(`${root}/${path}`).text() })),
);

/** The floors, from the ground up: a file imports from its own floor and from those below it. */
const floors: readonly (readonly string[])[] = [
  ["src/client"],
  ["src/contract", "src/operator-error.ts", "src/duration.ts", "src/loopback.ts"],
  ["src/observability"],
  ["src/store"],
  ["src/auth", "src/transfer"],
  ["src/api", "src/admin"],
  ["src/config", "src/output.ts", "src/password-prompt.ts"],
  ["src/commands"],
  ["src/cli.ts"],
];

/** Imports that only one file may hold, or none at all, and what to use instead. */
const reserved: readonly [pattern: RegExp, only: string, instead: string][] = [
  [/"bun:sqlite"/, "src/store/sqlite/driver.ts", "import from ./driver.ts"],
  [/"bun:ffi"/, "src/api/process-sockets.ts", "use ProcessSockets"],
  [/"pg"/, "src/store/postgres/driver.ts", "import from ./driver.ts"],
  [/"pino(?:-pretty)?"/, "src/observability/log.ts", "observe an Event"],
  [/"@opentelemetry\//, "src/observability/tracing.ts", "observe an Event"],
  [/"pg-copy-streams"/, "src/store/postgres/driver.ts", "import from ./driver.ts"],
  [/\bprocess\.exit\(/, "src/commands/serve.ts", "throw an OperatorError, or set process.exitCode"],
  [/\bconsole\.\w+\(/, "", "observe an Event, or use tell or printLines of operator-output.ts"],
  [/\bMath\.random\(/, "", "take randomness as an argument"],
];

function floorOf(path: string): number {
  return floors.findIndex((rooms) => rooms.some((room) => path === room || path.startsWith(`${room}/`)));
}

function importsOf(path: string, text: string): string[] {
  const specifiers = [...text.matchAll(/(?:from |import\()"(\.{1,2}\/[^"]+)"/g)].map(
    ([, specifier]) => specifier ?? "",
  );
  return specifiers
    .map((specifier) => normalize(join(dirname(path), specifier)))
    .filter((imported) => imported.startsWith("src/"));
}

test("imports point one way, down the house", () => {
  const upward = sources.flatMap(({ path, text }) =>
    importsOf(path, text)
      .filter((imported) => floorOf(imported) > floorOf(path) || floorOf(imported) === -1)
      .map((imported) => `${path} -> ${imported}`),
  );
  expect(upward).toEqual([]);
});

test("no engine knows another engine", () => {
  const across = sources.flatMap(({ path, text }) => {
    const engine = /^src\/store\/([^/]+)\//.exec(path)?.[1];
    return importsOf(path, text)
      .filter((imported) => engine !== undefined && /^src\/store\/([^/]+)\//.exec(imported)?.[1] !== engine)
      .filter((imported) => /^src\/store\/[^/]+\//.test(imported))
      .map((imported) => `${path} -> ${imported}`);
  });
  expect(across).toEqual([]);
});

test("what belongs to one file stays there", () => {
  const strays = reserved.flatMap(([pattern, only, instead]) =>
    sources
      .filter(({ path, text }) => path !== only && pattern.test(text))
      .map(({ path }) => `${path} has ${pattern.source}: ${instead}`),
  );
  expect(strays).toEqual([]);
});

test("a file says in its first line what it is about, and leaves nothing for later", () => {
  const faults = sources
    .filter(({ path }) => !path.endsWith(".d.ts"))
    .flatMap(({ path, text }) => [
      ...(text.startsWith("// ") ? [] : [`${path}: no header sentence`]),
      ...(/\b(?:TODO|FIXME|XXX|HACK)\b/.test(text) ? [`${path}: a leftover`] : []),
    ]);
  expect(faults).toEqual([]);
});
