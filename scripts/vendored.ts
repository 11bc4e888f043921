// npm run update:vendored: copies the parts of packages that the pages and tracing use, with the
// licences. Installed the packages take 264 MB, the copies 1.5 MB.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { scalarPackage } from "../src/docs-page/scalar.ts";

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

/** The script of the documentation page; see scalarPackage. */
const scalarPath = "src/docs-page/page/scalar.js.br";

/** The licence of Scalar, whose package has none: that of its repository. */
const scalarLicensePath = "src/vendored/SCALAR-LICENSE";

if (import.meta.main) {
  await Bun.write(join(root, scalarPath), await readScalar());
  for (const [path, text] of await readVendored()) await Bun.write(join(root, path), text);
}

/** Scalar's script from the registry, compressed. Throws unless it is the one that is pinned. */
async function readScalar(): Promise<Buffer> {
  const { name, version, integrity, path, sha256 } = scalarPackage;
  const folder = mkdtempSync(join(tmpdir(), "plantstore-vendored-"));
  try {
    const [packed] = await Bun.$`npm pack ${name}@${version} --json --pack-destination ${folder}`
      .quiet()
      .json();
    if (packed.integrity !== integrity) throw new Error(`${name} ${version} has another digest`);
    const script = await Bun.$`tar -xzOf ${join(folder, packed.filename)} ${path}`.quiet().arrayBuffer();
    if (Bun.SHA256.hash(script, "hex") !== sha256) throw new Error(`${path} has another digest`);
    const { BROTLI_PARAM_QUALITY: quality, BROTLI_PARAM_LGWIN: window } = constants;
    return brotliCompressSync(script, { params: { [quality]: 11, [window]: 24 } });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Every copy that is made from installed packages as it must be, by its path. */
export async function readVendored(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
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
  const scalarLicense = await Bun.file(join(root, scalarLicensePath)).text();
  const { name, version } = scalarPackage;
  const licenses = [await joinLicenses(folders), `${name} ${version}\n\n${scalarLicense}`];
  files.set(vendoredLicenses, licenses.join(licenseSeparator));
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
