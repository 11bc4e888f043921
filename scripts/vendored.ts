// npm run update:vendored: copies the parts of packages that the console's page and tracing use,
// with the licences. Installed the packages take 21 MB, the copies 0.4 MB.

import { join, relative, resolve } from "node:path";

const root = join(import.meta.dir, "..");

/** Where the licences of all copies are. */
export const vendoredLicenses = "src/vendored/LICENSES";

/** Between the licences of two packages. */
export const licenseSeparator = `\n${"-".repeat(80)}\n\n`;

/** Bundles by their path without `.js`: the types beside each are its exports. */
const bundles = {
  "src/console/page/library": { target: "browser", minify: true },
  "src/process/log/opentelemetry": { target: "bun", minify: { syntax: true, whitespace: true } },
} as const;

const styleSheet = { path: "src/console/page/uplot.css", original: "node_modules/uplot/dist/uPlot.min.css" };

if (import.meta.main) {
  for (const [path, text] of await readVendored()) await Bun.write(join(root, path), text);
}

/** Every copy as it must be, by its path. */
export async function readVendored(): Promise<ReadonlyMap<string, string>> {
  const files = new Map([[styleSheet.path, await Bun.file(join(root, styleSheet.original)).text()]]);
  const folders: string[] = [];
  for (const [path, options] of Object.entries(bundles)) {
    const entry = join(root, `${path}-entry.ts`);
    const { outputs, metafile } = await Bun.build({
      ...options,
      entrypoints: [entry],
      files: { [entry]: await Bun.file(join(root, `${path}.d.ts`)).text() },
      metafile: true,
    });
    files.set(`${path}.js`, (await outputs[0]?.text()) ?? "");
    folders.push(...packageFolders(Object.keys(metafile?.inputs ?? {})));
  }
  // What packages/sandbox/build.ts bundles.
  folders.push("node_modules/lossless-json");
  files.set(vendoredLicenses, await joinLicenses(folders));
  return files;
}

/** The names and versions of the packages that the copies are from, such as "preact 10.29.8". */
export async function readVendoredNames(): Promise<ReadonlySet<string>> {
  const licenses = await Bun.file(join(root, vendoredLicenses)).text();
  const lists = licenses.split(licenseSeparator).flatMap((text) => text.split("\n\n", 1));
  return new Set(lists.flatMap((list) => list.split("\n")));
}

/** The folders of the packages that some files are in, relative to the root. */
export function packageFolders(files: readonly string[]): readonly string[] {
  const paths = files.map((file) => relative(root, resolve(file)));
  const folders = paths.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].toSorted();
}

/** The names, versions and licences of packages. Throws if one has none. */
export async function joinLicenses(folders: readonly string[]): Promise<string> {
  const names = new Map<string, string[]>();
  for (const folder of folders) {
    const { name, version, license } = await Bun.file(join(root, folder, "package.json")).json();
    const glob = new Bun.Glob("{LICENSE,LICENCE,License,license}*");
    const file = [...glob.scanSync(join(root, folder))].toSorted()[0];
    const text = file === undefined ? license : await Bun.file(join(root, folder, file)).text();
    if (typeof text !== "string") throw new Error(`${folder} has no licence`);
    names.set(text.trim(), [...(names.get(text.trim()) ?? []), `${name} ${version}`]);
  }
  return [...names].map(([text, packages]) => `${packages.join("\n")}\n\n${text}\n`).join(licenseSeparator);
}
