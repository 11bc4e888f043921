// npm run build:deb [-- linux-arm64]: builds the Debian package of the executable, in dist/. Equal
// for equal commits: the time of all files is SOURCE_DATE_EPOCH, or the commit's.

import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import packageJson from "../package.json";
import { build, bundledLicenses, executableName, hostTarget } from "./build.ts";

const root = join(import.meta.dir, "..");

/** The maintainer, unless DEBFULLNAME and DEBEMAIL name another, as for Debian's own tools. */
function maintainer({ DEBFULLNAME, DEBEMAIL }: NodeJS.ProcessEnv): string {
  return `${DEBFULLNAME ?? "Plant Store developers"} <${DEBEMAIL ?? "plantstore@example.com"}>`;
}

/** Debian's names of the architectures that have an executable on glibc. */
const architectures = { "linux-x64": "amd64", "linux-arm64": "arm64" } as const;
type DebTarget = keyof typeof architectures;

interface Deb {
  readonly target: DebTarget;
  readonly executable: string;
  /** As in package.json. */
  readonly version: string;
  /** dpkg-deb's: xz takes 25 s, which only what is published is worth. */
  readonly compression: "xz" | "none";
}

if (import.meta.main) {
  const name = process.argv[2] ?? hostTarget();
  const target = Object.keys(architectures).find((each): each is DebTarget => each === name);
  if (target === undefined)
    throw new Error(`There is no Debian package for ${name}; use ${Object.keys(architectures).join(" or ")}`);
  const executable = await build(target, join(root, "dist", executableName(target)));
  const { version } = packageJson;
  const file = await buildDeb({ target, executable, version, compression: "xz" }, join(root, "dist"));
  process.stdout.write(`${relative(process.cwd(), file)}  ${Math.round(Bun.file(file).size / 1e6)} MB\n`);
}

/** Builds the package in a folder, and returns its path. Needs dpkg-deb. */
export async function buildDeb(deb: Deb, folder: string): Promise<string> {
  const epoch = Number(
    process.env.SOURCE_DATE_EPOCH ?? (await Bun.$`git -C ${root} log -1 --format=%ct`.quiet().text()),
  );
  const staging = mkdtempSync(join(tmpdir(), "plantstore-deb-"));
  try {
    const tree = join(staging, "tree");
    const put = (path: string, content: string | Uint8Array, mode = 0o644) => {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
      writeFileSync(join(tree, path), content);
      chmodSync(join(tree, path), mode);
    };
    await putFiles(deb, put, epoch);
    await putControlFiles(deb, put, tree);
    for (const path of filesIn(tree, { folders: true })) utimesSync(path, epoch, epoch);

    const file = join(folder, `plantstore_${debianVersion(deb.version)}_${architectures[deb.target]}.deb`);
    await Bun.$`dpkg-deb --root-owner-group -Z${deb.compression} --build ${tree} ${file}`
      .env({ ...process.env, SOURCE_DATE_EPOCH: String(epoch) })
      .quiet();
    return file;
  } finally {
    rmSync(staging, { recursive: true });
  }
}

type Put = (path: string, content: string | Uint8Array, mode?: number) => void;

async function putFiles(deb: Deb, put: Put, epoch: number): Promise<void> {
  const deploy = (name: string) => Bun.file(join(root, "deploy", name)).text();
  const compress = (text: string) => Bun.gzipSync(Buffer.from(text), { level: 9 });
  const print = (...args: string[]) => Bun.$`${join(root, "bin/plantstore")} ${args}`.quiet().text();

  put("usr/bin/plantstore", await Bun.file(deb.executable).bytes(), 0o755);
  put("lib/systemd/system/plantstore@.service", await deploy("systemd/plantstore@.service"));
  put("etc/plantstore/a.env", await deploy("debian/a.env"));
  put("usr/share/man/man1/plantstore.1.gz", compress(await print("man")));
  put("usr/sbin/plantstorectl", await deploy("debian/plantstorectl"), 0o755);
  put("usr/share/man/man8/plantstorectl.8.gz", compress(await deploy("debian/plantstorectl.8")));
  put("usr/share/bash-completion/completions/plantstore", await print("completion", "bash"));
  put("usr/share/zsh/vendor-completions/_plantstore", await print("completion", "zsh"));
  put("usr/share/fish/vendor_completions.d/plantstore.fish", await print("completion", "fish"));
  put("usr/share/lintian/overrides/plantstore", await deploy("debian/lintian-overrides"));

  const documents = "usr/share/doc/plantstore";
  put(`${documents}/copyright`, await bundledLicenses());
  put(`${documents}/changelog.gz`, compress(await Bun.file(join(root, "CHANGELOG.md")).text()));
  const date = new Date(epoch * 1_000).toUTCString().replace("GMT", "+0000");
  const entry = [
    `plantstore (${debianVersion(deb.version)}) unstable; urgency=medium`,
    `  * See ${documents}/changelog.gz.`,
    ` -- ${maintainer(process.env)}  ${date}`,
  ];
  put(`${documents}/changelog.Debian.gz`, compress(`${entry.join("\n\n")}\n`));
}

async function putControlFiles(deb: Deb, put: Put, tree: string): Promise<void> {
  const files = filesIn(tree, { folders: false });
  const bytes = files.reduce((sum, path) => sum + Bun.file(path).size, 0);
  const sums = await Promise.all(
    files.map(async (path) => {
      const sum = new Bun.CryptoHasher("md5").update(await Bun.file(path).bytes()).digest("hex");
      return `${sum}  ${relative(tree, path)}\n`;
    }),
  );
  put("DEBIAN/md5sums", sums.join(""));
  put("DEBIAN/conffiles", "/etc/plantstore/a.env\n");
  for (const name of ["postinst", "prerm", "postrm"])
    put(`DEBIAN/${name}`, await Bun.file(join(root, "deploy/debian", name)).text(), 0o755);
  const control = {
    Package: "plantstore",
    Version: debianVersion(deb.version),
    Architecture: architectures[deb.target],
    Maintainer: maintainer(process.env),
    "Installed-Size": Math.ceil(bytes / 1_024),
    // glibc 2.17 of 2012 is the oldest that Bun's runtime starts on.
    Depends: "adduser, libc6 (>= 2.17)",
    Section: "net",
    Priority: "optional",
    Description: [
      "durable server for the Plant Store contract",
      " The service of one operation, POST /plants, with bearer tokens and exact",
      " 64-bit ids, on SQLite or PostgreSQL. A create that was acknowledged is on",
      " stable storage.",
      " .",
      " The package starts one server on http://127.0.0.1:8080 with a SQLite store in",
      " /var/lib/plantstore.",
    ].join("\n"),
  };
  const fields = Object.entries(control).map(([name, value]) => `${name}: ${value}\n`);
  put("DEBIAN/control", fields.join(""));
}

/** With a revision, which Debian requires; 0.2.0-rc.1 comes before 0.2.0. */
function debianVersion(version: string): string {
  return `${version.replace("-", "~")}-1`;
}

function filesIn(folder: string, { folders }: { readonly folders: boolean }): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => folders || entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}
