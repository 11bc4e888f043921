// npm packages: those that are built here, installed for a consumer, and generators that need
// another TypeScript.

import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import packageLock from "../../package-lock.json";
import { runProgram, type TemporaryFolder } from "./server.ts";

const root = new URL("../..", import.meta.url).pathname;

/** The packages that npm packs with the server, such as node_modules/hono. */
const bundledPackages = Object.entries(packageLock.packages).flatMap(([path, locked]) =>
  "inBundle" in locked ? [path] : [],
);

/** Packs the client, and returns the path of the tarball. */
export function packClient(folder: TemporaryFolder): Promise<string> {
  return packCopy(["packages/client", "packages/build-library.ts", "LICENSE"], "packages/client", folder);
}

/** Packs the conformance kit, and returns the path of the tarball. */
export function packConformance(folder: TemporaryFolder): Promise<string> {
  return packCopy(
    [
      "packages/conformance",
      "src/base",
      "src/json",
      "src/contract",
      "src/openapi",
      "openapi.yaml",
      "LICENSE",
    ],
    "packages/conformance",
    folder,
  );
}

/** Packs the server, and returns the path of the tarball. */
export function packServer(folder: TemporaryFolder): Promise<string> {
  const documents = ["README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "openapi.yaml"];
  return packCopy(["bin", "src", "scripts", "packages", ...documents], ".", folder);
}

/** Packs a package in a copy, because its prepack script writes its dist/. */
function packCopy(paths: readonly string[], directory: string, folder: TemporaryFolder): Promise<string> {
  const copy = folder.file("copy");
  for (const path of ["package.json", "tsconfig.json", ...paths]) {
    cpSync(join(root, path), join(copy, path), { recursive: true });
  }
  copyModules(join(copy, "node_modules"));
  return pack(join(copy, directory), folder);
}

/** Copies the packages that npm packs with the server, and links the others. */
function copyModules(to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(join(root, "node_modules"))) {
    const from = join(root, "node_modules", name);
    if (bundledPackages.includes(`node_modules/${name}`)) cpSync(from, join(to, name), { recursive: true });
    else symlinkSync(from, join(to, name));
  }
}

async function pack(cwd: string, folder: TemporaryFolder): Promise<string> {
  const destination = folder.file("tarballs");
  mkdirSync(destination);
  await succeed(cwd, ["npm", "pack", "--pack-destination", destination]);
  const [tarball = ""] = readdirSync(destination);
  return join(destination, tarball);
}

/** Unpacks a tarball of npm. */
export async function unpack(tarball: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await succeed(folder, ["tar", "xzf", tarball, "--strip-components=1"]);
}

/** The environment of npm: packages come from its cache if possible. */
export const npmEnvironment = {
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_prefer_offline: "true",
  npm_config_update_notifier: "false",
};

/** Installs a package for npx. Returns why it cannot be installed; undefined if it is. */
export async function npxMissing(specification: string): Promise<string | undefined> {
  const npx = ["npx", "--yes", `--package=${specification}`, "--", "sh", "-c", "true"];
  const env = { ...process.env, ...npmEnvironment };
  const { exitCode } = await runProgram(npx, { env });
  return exitCode === 0 ? undefined : `npm cannot download ${specification}`;
}

/** Runs a program, and returns its standard output. Throws if it fails. */
export async function succeed(
  cwd: string,
  command: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const env = { ...process.env, ...npmEnvironment, ...variables };
  const { exitCode, stdout, stderr } = await runProgram(command, { cwd, env });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout;
}

/** How consumers resolve a package: the compiler, its settings, and the extension of their file. */
export const moduleResolutions = [
  ["typescript", "bundler", "esnext", "mts"],
  ["typescript", "nodenext", "nodenext", "mts"],
  ["typescript", "nodenext", "nodenext", "cts"],
  ["typescript-5", "node10", "commonjs", "ts"],
] as const;

/** Checks the types of files in a folder, strictly. Throws with what the compiler says. */
export async function checkTypes(
  folder: string,
  files: readonly string[],
  options: object,
  compiler: "typescript" | "typescript-5" = "typescript",
): Promise<void> {
  const strict = { strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: true };
  const project = join(folder, `tsconfig-${crypto.randomUUID()}.json`);
  writeFileSync(project, JSON.stringify({ compilerOptions: { ...strict, ...options }, files }));
  await succeed(folder, ["node", join(root, "node_modules", compiler, "bin/tsc"), "-p", project]);
}

/**
 * Checks the types of program.ts in a folder, as Bun runs it. Throws with what the compiler says.
 */
export function checkProgram(folder: TemporaryFolder, program: string): Promise<void> {
  writeFileSync(folder.file("program.ts"), program);
  return checkTypes(folder.path, ["program.ts"], {
    target: "esnext",
    module: "esnext",
    moduleResolution: "bundler",
    allowImportingTsExtensions: true,
    types: ["bun"],
    typeRoots: [join(root, "node_modules/@types")],
  });
}

/** The source of the types. The files of the generator are written to the folder. */
export async function generateTypes(document: string, folder: TemporaryFolder): Promise<string> {
  const { default: generate, astToString } = await import(await bundleGenerator(folder));
  return astToString(await generate(pathToFileURL(document)));
}

/** The generator as one file. It needs TypeScript 5's compiler API, which TypeScript 7 lacks. */
async function bundleGenerator(folder: TemporaryFolder): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [Bun.resolveSync("openapi-typescript", import.meta.dir)],
    outdir: folder.file("generator"),
    target: "bun",
    plugins: [
      {
        name: "TypeScript 5",
        setup(build) {
          const path = Bun.resolveSync("typescript-5", import.meta.dir);
          build.onResolve({ filter: /^typescript$/ }, () => ({ path }));
        },
      },
    ],
  });
  return outputs[0]?.path ?? "";
}
