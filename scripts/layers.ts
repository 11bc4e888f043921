// The layers of the source tree, which a test enforces and npm run update:rooms draws.

import { dirname, join, normalize } from "node:path";
import { Glob } from "bun";

const root = join(import.meta.dir, "..");

/** The layers from the lowest up: a file imports from its own layer and from those below. */
export const layers: readonly (readonly string[])[] = [
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

export interface Source {
  readonly path: string;
  readonly text: string;
}

export async function readFiles(...patterns: readonly string[]): Promise<Source[]> {
  const paths = patterns.flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: root })]);
  return Promise.all(
    paths
      .filter((path) => !path.includes("node_modules/"))
      .toSorted()
      .map(async (path) => ({ path, text: await Bun.file(join(root, path)).text() })),
  );
}

/** Copies of packages: scripts/vendored.ts. */
const vendored = ["src/console/page/library.js", "src/core/observability/opentelemetry.js"];

export async function readSources(): Promise<Source[]> {
  const files = await readFiles("src/**/*.{js,ts}", "packages/*/src/**/*.{js,ts}");
  return files.filter(({ path }) => !isWithin(path, vendored));
}

/** Whether a path is one of the files or is below one of the folders. */
function isWithin(path: string, parents: readonly string[]): boolean {
  return parents.some((parent) => path === parent || path.startsWith(`${parent}/`));
}

export function findLayer(path: string): number {
  return layers.findIndex((parents) => isWithin(path, parents));
}

/** The files of the source tree that a file imports, also as types. */
export function findImports({ path, text }: Source): string[] {
  return [...text.matchAll(/(?:from |import\()"(\.{1,2}\/[^"]+)"/g)]
    .map(([, specifier = ""]) => normalize(join(dirname(path), specifier)))
    .filter((imported) => /^(?:src|packages)\//.test(imported));
}
