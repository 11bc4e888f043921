// npm run update:vendored: copies the parts of packages that the console's page and tracing use,
// with the licences. Installed the packages take 21 MB, the copies 0.4 MB.

import { join, relative, resolve } from "node:path";

const root = join(import.meta.dir, "..");

/** Where the licences of all copies are. */
export const vendoredLicenses = "src/vendored.LICENSES";

/** Between the licences of two packages. */
export const licenseSeparator = `\n${"-".repeat(80)}\n\n`;

/** Files of packages, unchanged. */
const copies = {
  "src/console/page/library/htm.js": "htm/dist/htm.mjs",
  "src/console/page/library/preact.js": "preact/dist/preact.mjs",
  "src/console/page/library/uplot.js": "uplot/dist/uPlot.iife.min.js",
  "src/console/page/library/uplot.css": "uplot/dist/uPlot.min.css",
} as const;

/** The parts of OpenTelemetry that tracing.ts uses, in one file. Its types are its exports. */
const bundle = {
  file: "src/core/observability/opentelemetry.js",
  types: "src/core/observability/opentelemetry.d.ts",
};

if (import.meta.main) {
  for (const [path, text] of await readVendored()) await Bun.write(join(root, path), text);
}

/** Every copy as it must be, by its path. */
export async function readVendored(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const [path, original] of Object.entries(copies)) {
    files.set(path, await Bun.file(join(root, "node_modules", original)).text());
  }
  const { outputs, metafile } = await Bun.build({
    entrypoints: [join(root, "src/observability/entry.ts")],
    files: { [join(root, "src/observability/entry.ts")]: await Bun.file(join(root, bundle.types)).text() },
    target: "bun",
    minify: { syntax: true, whitespace: true },
    metafile: true,
  });
  files.set(bundle.file, (await outputs[0]?.text()) ?? "");
  const bundled = packageFolders(Object.keys(metafile?.inputs ?? {}));
  const copied = Object.values(copies).map((original) => `node_modules/${original.split("/")[0]}`);
  files.set(vendoredLicenses, await joinLicenses([...new Set([...copied, ...bundled])]));
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
