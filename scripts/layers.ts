// The layers of the source tree, which a test enforces and npm run update:rooms draws.

import { dirname, join, normalize } from "node:path";
import { Glob } from "bun";

const root = join(import.meta.dir, "..");

/** The layers from the lowest up: a file imports from its own layer and from those below. */
export const layers: readonly (readonly string[])[] = [
  ["packages/client/src"],
  ["packages/sandbox/src"],
  ["src/base"],
  ["src/json"],
  ["src/contract"],
  ["src/store/sql-connection.ts", "src/store/fair-share.ts"],
  ["src/store/shared"],
  ["src/store/migration"],
  [
    "src/store/plant-store.ts",
    "src/store/group-commit.ts",
    "src/store/groups.ts",
    "src/store/list-counts.ts",
    "src/store/list-reads.ts",
    "src/store/operation-store.ts",
  ],
  ["src/store/sqlite", "src/store/postgres"],
  ["src/store/citus"],
  ["src/store/open-store.ts"],
  ["src/auth"],
  ["src/http"],
  ["src/admin"],
  ["src/plants"],
  ["src/service"],
  // The core ends above this line.
  ["src/openapi/document"],
  ["src/openapi/schema"],
  ["src/openapi/description", "src/openapi/default-contract.ts", "src/openapi/plant-store.json"],
  ["src/openapi/files", "src/openapi/compiler.ts"],
  ["src/described"],
  ["packages/conformance/src/wire", "packages/conformance/src/plants"],
  ["packages/conformance/src/failures"],
  ["packages/conformance/src/requests"],
  ["packages/conformance/src/rules"],
  ["packages/conformance/src/run"],
  ["packages/conformance/src/reports"],
  ["packages/conformance/src/command.ts", "packages/conformance/src/package-main.ts"],
  ["src/index.ts"],
  ["src/admin-pages"],
  ["src/docs-page"],
  ["src/transfer"],
  ["src/console/page-contract.ts", "src/console/console-context.ts", "src/console/parameters.ts"],
  ["src/console/reads", "src/console/session"],
  ["src/console/calls"],
  ["src/console/page"],
  ["src/console"],
  ["src/sandbox"],
  ["src/process/config", "src/process/log"],
  ["src/process"],
  ["src/cli/command-options.ts"],
  ["src/cli/commands"],
  ["src/cli"],
];

/** The folders of the core: those of the layers up to startServer's. */
export const coreFolders: readonly string[] = [
  ...new Set(layers.slice(0, layers.findIndex(([name]) => name === "src/service") + 1).flatMap(foldersOf)),
];

/** The folders of src/ that a layer is in. */
export function foldersOf(layer: readonly string[]): string[] {
  return [...new Set(layer.flatMap((path) => /^src\/[a-z-]+(?=\/|$)/.exec(path) ?? []))];
}

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
const vendored = ["src/console/page/library.js", "src/process/log/opentelemetry.js"];

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
