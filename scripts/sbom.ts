// The bill of materials of a release, in CycloneDX 1.5, from the lock file. `npm sbom --omit=dev`
// (npm 11.19) omits what development dependencies need as well, and knows no copies in the source
// tree; its order and ids are not stable.

import { join } from "node:path";
import { readVendoredNames } from "./vendored.ts";

const root = join(import.meta.dir, "..");

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Component {
  readonly path: string;
  readonly name: string;
  readonly locked: LockedPackage;
  readonly isCopy: boolean;
}

export interface SbomOptions {
  readonly version: string;
  /** 40 hexadecimal digits. */
  readonly commit: string;
  /** When the commit was made. */
  readonly date: Date;
}

/** Equal for equal commits. */
export async function sbom({ version, commit, date }: SbomOptions): Promise<string> {
  const { packages } = await Bun.file(join(root, "package-lock.json")).json();
  const components = listComponents(packages, await readVendoredNames());
  const byPath = new Map(components.map((component) => [component.path, component]));
  const self = `pkg:npm/plantstore@${version}`;
  const document = {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    serialNumber: `urn:uuid:${uuidOf(commit)}`,
    version: 1,
    metadata: {
      timestamp: date.toISOString(),
      component: {
        type: "application",
        "bom-ref": self,
        name: "plantstore",
        version,
        licenses: [{ license: { id: "MIT" } }],
        purl: self,
        properties: [{ name: "commit", value: commit }],
      },
    },
    components: components.map(toCycloneDx),
    dependencies: [
      {
        ref: self,
        dependsOn: refsOf(
          packages[""],
          "",
          byPath,
          components.filter(({ isCopy }) => isCopy),
        ),
      },
      ...components.map(({ path, name, locked }) => ({
        ref: purl(name, locked.version),
        dependsOn: refsOf(locked, path, byPath),
      })),
    ],
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** The packages that are installed with the server, on any system, or copied into it; by name. */
function listComponents(packages: Readonly<Record<string, LockedPackage>>, copies: ReadonlySet<string>) {
  return Object.entries(packages)
    .map(([path, locked]) => {
      const name = path.replace(/^.*node_modules\//, "");
      return { path, name, locked, isCopy: copies.has(`${name} ${locked.version}`) };
    })
    .filter(({ path, locked }) => path.includes("node_modules/") && locked.link !== true)
    .filter(({ locked, isCopy }) => locked.dev !== true || isCopy)
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

function toCycloneDx({ name, locked, isCopy }: Component): object {
  const { version, integrity = "", license = "", optional = false } = locked;
  const [algorithm, hash = ""] = integrity.split("-");
  if (algorithm !== "sha512" || license === "")
    throw new Error(`${name} has no SHA-512 or no licence in the lock file`);
  return {
    type: "library",
    "bom-ref": purl(name, version),
    name,
    version,
    scope: optional ? "optional" : "required",
    hashes: [{ alg: "SHA-512", content: Buffer.from(hash, "base64").toString("hex") }],
    licenses: / (?:OR|AND) /.test(license) ? [{ expression: license }] : [{ license: { id: license } }],
    purl: purl(name, version),
    // The hash is that of the whole package.
    ...(isCopy ? { properties: [{ name: "cdx:npm:package:bundled", value: "true" }] } : {}),
  };
}

/**
 * The dependencies of a package, as npm finds them: in its own node_modules, then in those above.
 */
function refsOf(
  { dependencies, optionalDependencies }: LockedPackage,
  path: string,
  byPath: ReadonlyMap<string, Component>,
  also: readonly Component[] = [],
): readonly string[] {
  const found = Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => {
    for (let folder = path; ; folder = folder.replace(/(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+$/, "")) {
      const component = byPath.get(`${folder === "" ? "" : `${folder}/`}node_modules/${name}`);
      if (component !== undefined) return [component];
      if (folder === "") return [];
    }
  });
  return [...found, ...also].map(({ name, locked }) => purl(name, locked.version)).toSorted();
}

function purl(name: string, version: string): string {
  return `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
}

/** A UUID of version 8 (RFC 9562, section 5.8), of which 122 bits are the commit's. */
function uuidOf(commit: string): string {
  const [, a, b, c, d, e] = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(commit) ?? [];
  return `${a}-${b}-8${c}-a${d}-${e}`;
}
