// npm run release -- VERSION [TARGET… | all]: writes the version and the date, commits, tags, and
// builds what is published into dist/release. Without VERSION it builds the release of the current
// commit, as the workflow of a tag does.

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../package.json";
import { OperatorError } from "../src/base/operator-error.ts";
import { build, executableName, parseTargets, type Target } from "./build.ts";
import { sbom } from "./sbom.ts";

const root = join(import.meta.dir, "..");
const folder = join(root, "dist/release");

/** Has the hashes of the other files, as `sha256sum --check` reads them. */
const sums = "SHA256SUMS";

const versionPattern = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

/** The npm packages apart from the server's. */
const packages = ["packages/client", "packages/conformance"];

/** Files apart from npm's with the version in a name. */
const versionedFiles = [
  "README.md",
  "docs/client.md",
  "docs/conformance.md",
  "docs/operating.md",
  "deploy/container/compose.yaml",
  "deploy/helm/plantstore/Chart.yaml",
];

try {
  await release(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`release: ${error.message}\n`);
  process.exitCode = 1;
}

async function release(args: readonly string[]): Promise<void> {
  const isVersion = versionPattern.test(args[0] ?? "");
  const targets = parseTargets(isVersion ? args.slice(1) : args);
  const [version = packageJson.version] = isVersion ? args : [];
  const changes = await git("status", "--porcelain");
  if (changes !== "") throw new OperatorError(`commit or remove these changes first:\n${changes}`);
  if (isVersion) await tagVersion(version);
  else if (!(await git("tag", "--points-at", "HEAD")).split("\n").includes(`v${version}`))
    throw new OperatorError(
      `this commit has no tag v${version}; give a version, such as "npm run release -- ${version}"`,
    );

  await buildArtefacts(version, targets);
  for (const file of await hashFiles()) process.stdout.write(`${file}\n`);
  if (isVersion) process.stdout.write(`Publish it with "git push origin HEAD v${version}".\n`);
}

/** Writes the version and the date into the files that have them, commits, and tags. */
async function tagVersion(version: string): Promise<void> {
  const old = packageJson.version;
  if (Bun.semver.order(version, old) < 0) throw new OperatorError(`version ${version} is older than ${old}`);
  if ((await git("tag", "--list", `v${version}`)) !== "")
    throw new OperatorError(`the tag v${version} exists`);

  const date = new Date().toISOString().slice(0, 10);
  await rewrite("CHANGELOG.md", (text) => {
    if (!/^## Unreleased\n+(?!## )\S/m.test(text))
      throw new OperatorError('CHANGELOG.md has nothing under "## Unreleased"');
    return text.replace("## Unreleased\n", `## Unreleased\n\n## ${version} - ${date}\n`);
  });
  for (const file of ["package.json", ...packages.map((folder) => `${folder}/package.json`)]) {
    await rewrite(file, (text) => text.replace(`"version": "${old}"`, `"version": "${version}"`));
  }
  await rewrite("package-lock.json", (text) => {
    const lock = JSON.parse(text);
    for (const own of [lock, lock.packages[""], ...packages.map((folder) => lock.packages[folder])])
      own.version = version;
    return `${JSON.stringify(lock, undefined, 2)}\n`;
  });
  // The names of tarballs and the image, the banner, and the chart's versions.
  const named = new RegExp(
    `(plantstore[-_:](?:client-|conformance-)?|Plant Store |^(?:version|appVersion): )${RegExp.escape(old)}`,
    "gm",
  );
  for (const file of versionedFiles) {
    await rewrite(file, (text) => text.replaceAll(named, `$1${version}`));
  }
  await git("commit", "--quiet", "--all", "--message", `Release ${version}`);
  await git("tag", "--annotate", `v${version}`, "--message", `Plant Store ${version}`);
}

async function buildArtefacts(version: string, targets: readonly Target[]): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const path of [".", ...packages])
    await Bun.$`npm pack --pack-destination ${folder}`.cwd(join(root, path)).quiet();
  for (const target of targets) await build(target, join(folder, executableName(target)));

  const commit = await git("rev-parse", "HEAD");
  const date = new Date(Number(await git("show", "--no-patch", "--format=%ct")) * 1000);
  await Bun.write(join(folder, `plantstore-${version}.cdx.json`), await sbom({ version, commit, date }));
  await Bun.write(join(folder, "PROVENANCE.md"), await provenance(version, targets, commit, date));
  await Bun.write(join(folder, sums), `${(await hashFiles()).join("\n")}\n`);
}

/** The sources of the files, and how to make them again. */
async function provenance(
  version: string,
  targets: readonly Target[],
  commit: string,
  date: Date,
): Promise<string> {
  const lockFile = await hashFile(join(root, "package-lock.json"));
  const npm = (await Bun.$`npm --version`.quiet().text()).trim();
  const node = (await Bun.$`node --version`.quiet().text()).trim();
  return `# Provenance of Plant Store ${version}

| | |
| --- | --- |
| Commit | ${commit} of ${date.toISOString()}, tag v${version} |
| package-lock.json | SHA-256 ${lockFile} |
| Built with | Bun ${Bun.version}, Node ${node.replace("v", "")}, npm ${npm}, on ${process.platform} ${process.arch} |

To build the same files, byte for byte, with these versions; the hashes in dist/release/${sums} are then those of this release:

\`\`\`sh
git checkout v${version} && npm ci && npm run release -- ${targets.join(" ")}
\`\`\`
`;
}

/** The lines of a file of hashes: the files of the folder, but for that file itself. */
async function hashFiles(): Promise<readonly string[]> {
  const names = readdirSync(folder).filter((name) => name !== sums);
  return Promise.all(names.toSorted().map(async (name) => `${await hashFile(join(folder, name))}  ${name}`));
}

async function hashFile(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk);
  return hasher.digest("hex");
}

async function rewrite(file: string, change: (text: string) => string): Promise<void> {
  const path = join(root, file);
  await Bun.write(path, change(await Bun.file(path).text()));
}

async function git(...args: string[]): Promise<string> {
  return (await Bun.$`git -C ${root} ${args}`.quiet().text()).trim();
}
