// npm run build [-- TARGET… | all]: compiles the service into one executable for each target, in
// dist/, with Bun, the threads, both pages and openapi.yaml; and next to it a file of the licences.
// npm run build -- package: builds what the npm package runs, in dist/server, and the types of its
// library, in dist/types.

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { bundlePage } from "../src/console/page-bundle.ts";
import { joinLicenses, licenseSeparator, packageFolders, vendoredLicenses } from "./vendored.ts";

const root = join(import.meta.dir, "..");

/**
 * Bun's runtime for each target, from the npm registry. "baseline" also runs without AVX2 (before
 * 2013), and took no more time a create.
 */
const runtimes = {
  "linux-x64": "bun-linux-x64-baseline",
  "linux-arm64": "bun-linux-arm64",
  "linux-x64-musl": "bun-linux-x64-baseline-musl",
  "linux-arm64-musl": "bun-linux-arm64-musl",
  "darwin-x64": "bun-darwin-x64",
  "darwin-arm64": "bun-darwin-arm64",
  "windows-x64": "bun-windows-x64-baseline",
} as const;
export type Target = keyof typeof runtimes;
export const targets = Object.keys(runtimes) as Target[];

/** The file of the licences of all that is in an executable. */
export const licensesName = "plantstore.LICENSES";

/** Each is a script of its own in the executable. */
const entryPoints = [
  "src/cli/main.ts",
  "src/store/sqlite/commit-worker.ts",
  "src/store/sqlite/checkpoint-worker.ts",
  "src/store/sqlite/sql-worker.ts",
];

if (import.meta.main && process.argv[2] === "package") {
  await buildPackage();
  await buildTypes();
} else if (import.meta.main) {
  for (const target of parseTargets(process.argv.slice(2))) {
    const file = await build(target, join(root, "dist", executableName(target)));
    const megabytes = Math.round(Bun.file(file).size / 1e6);
    process.stdout.write(`${relative(process.cwd(), file)}  ${megabytes} MB\n`);
  }
}

/** The target of this machine. */
export function hostTarget(): Target {
  const isMusl = process.platform === "linux" && !("glibcVersionRuntime" in reportHeader());
  const name = `${process.platform}-${process.arch}${isMusl ? "-musl" : ""}`;
  return parseTarget(name.replace("win32", "windows"));
}

/**
 * Builds one executable, and returns its path. Throws if that fails, or Bun cannot be downloaded.
 */
export async function build(target: Target, file: string): Promise<string> {
  mkdirSync(dirname(file), { recursive: true });
  const { metafile } = await Bun.build({
    ...(await options({ BUILD_COMMIT: JSON.stringify(await readCommit()) })),
    // ES modules: with CommonJS, the default of bytecode, top-level await fails.
    format: "esm",
    bytecode: true,
    compile: {
      target: runtimes[target],
      outfile: file,
      // Both are anybody's in the folder where a command runs, and the latter names code.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  });
  await Bun.write(join(dirname(file), licensesName), await readLicenses(Object.keys(metafile?.inputs ?? {})));
  return file;
}

/**
 * Builds scripts that the pinned Bun runs as they are: parsing them and finding some 300 sources
 * took a third of each start. Stack traces name the lines of src/ by the source maps.
 */
async function buildPackage(): Promise<void> {
  const outdir = join(root, "dist/server");
  rmSync(outdir, { recursive: true, force: true });
  const { outputs } = await Bun.build({
    ...(await options({ "import.meta.url": "moduleUrl", "import.meta.require": "require" })),
    outdir,
    // Bytecode that is not part of an executable needs CommonJS, which has no import.meta.
    format: "cjs",
    bytecode: true,
    banner: `const moduleUrl = require("node:url").pathToFileURL(__filename).href;`,
    sourcemap: "linked",
  });
  for (const { kind, path } of outputs) {
    if (kind !== "sourcemap") continue;
    const map = await Bun.file(path).json();
    // The sources are in the package. Bun rejects a map without this member.
    await Bun.write(path, JSON.stringify({ ...map, sourcesContent: map.sources.map(() => "") }));
  }
}

/**
 * Builds the declarations of src/index.ts: a compiler checks the sources of a package with the
 * settings of who uses it.
 */
async function buildTypes(): Promise<void> {
  const outdir = join(root, "dist/types");
  rmSync(outdir, { recursive: true, force: true });
  await Bun.$`${join(root, "node_modules/.bin/tsc")} -p ${join(root, "src/tsconfig.types.json")} --outDir ${outdir}`;
  const used = new Set<string>();
  const visit = async (file: string): Promise<void> => {
    if (used.has(file)) return;
    used.add(file);
    const text = await Bun.file(file).text();
    const imports = /(["'])(\.{1,2}\/[\w./-]+)\.ts\1/g;
    await Bun.write(file, text.replaceAll(imports, "$1$2.js$1"));
    for (const [, , path = ""] of text.matchAll(imports)) await visit(join(dirname(file), `${path}.d.ts`));
  };
  await visit(join(outdir, "src/index.d.ts"));
  for (const name of readdirSync(outdir, { recursive: true, encoding: "utf8" })) {
    const file = join(outdir, name);
    if (name.endsWith(".d.ts") && !used.has(file)) rmSync(file);
  }
}

/** @param definitions expressions for names of the sources. */
async function options(definitions: Readonly<Record<string, string>>) {
  const page = await bundlePage();
  return {
    entrypoints: entryPoints.map((path) => join(root, path)),
    root: join(root, "src"),
    target: "bun",
    minify: { syntax: true, whitespace: true },
    // All in one folder, where `new URL("./commit-worker", import.meta.url)` looks for a thread.
    naming: { entry: "[name].[ext]" },
    // Not "files", with whose absolute path a build in another folder would have another hash.
    plugins: [
      {
        name: "page",
        setup: (build) =>
          void build.onLoad({ filter: /\/console\/page-bundle\.ts$/ }, () => ({
            contents: `export const bundlePage = async () => ${JSON.stringify(page)};`,
          })),
      },
    ],
    // Two packages name threads by their folder, which are never started.
    define: { ...definitions, __dirname: '"/"' },
    metafile: true,
  } as const satisfies Bun.BuildConfig;
}

/** @param inputs the files of a bundle, relative to the current folder. */
async function readLicenses(inputs: readonly string[]): Promise<string> {
  const texts = [
    `Plant Store\n\n${await Bun.file(join(root, "LICENSE")).text()}`,
    await Bun.file(join(root, vendoredLicenses)).text(),
    await joinLicenses([...packageFolders(inputs), "node_modules/bun"]),
  ];
  return texts.join(licenseSeparator);
}

async function readCommit(): Promise<string> {
  const git = async (...args: string[]) => (await Bun.$`git -C ${root} ${args}`.quiet().text()).trim();
  const hasChanges = (await git("status", "--porcelain", "--untracked-files=no")) !== "";
  return (await git("rev-parse", "--short=12", "HEAD")) + (hasChanges ? "+" : "");
}

/** The name of a target's executable in dist/. */
export function executableName(target: Target): string {
  return `plantstore-${target}${target.startsWith("windows") ? ".exe" : ""}`;
}

/** The targets of the arguments, by default this machine's. Throws for an unknown name. */
export function parseTargets(args: readonly string[]): readonly Target[] {
  if (args.length === 0) return [hostTarget()];
  return args.includes("all") ? targets : args.map(parseTarget);
}

function parseTarget(name: string): Target {
  const target = targets.find((each) => each === name);
  if (target === undefined) throw new Error(`There is no target "${name}"; use ${targets.join(", ")} or all`);
  return target;
}

function reportHeader(): object {
  const report = process.report?.getReport() as { header?: object } | undefined;
  return report?.header ?? {};
}
