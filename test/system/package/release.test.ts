// npm run release, in a copy of the repository: what it changes, commits, tags and builds, and that
// a second build of the commit is the same.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../../package.json";
import { hostTarget } from "../../../scripts/build.ts";
import { succeed } from "../../support/npm-packages.ts";
import { copyRepository, setAuthor } from "../../support/repository-copy.ts";
import { type CommandResult, runIn, runProgram, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const folder = new TemporaryFolder();
const copy = folder.file("copy");
const version = "99.1.0";
afterAll(() => folder[Symbol.dispose]());

beforeAll(async () => {
  await copyRepository(copy);
  // There is nothing to release right after a release.
  const changelog = await Bun.file(join(copy, "CHANGELOG.md")).text();
  await Bun.write(join(copy, "CHANGELOG.md"), changelog.replace("## Unreleased\n", "$&\n- A change.\n"));
  await prepare(copy);
  await succeed(copy, ["git", "add", "--all"]);
  await succeed(copy, ["git", "commit", "--quiet", "--message", "Start"]);
  // A file that npm pack has left does not prevent a release.
  await Bun.write(join(copy, `plantstore-${packageJson.version}.tgz`), "");
});

/** Gives a repository an author, and what `npm ci` installs. */
async function prepare(repository: string): Promise<void> {
  await setAuthor(repository);
  symlinkSync(join(root, "node_modules"), join(repository, "node_modules"));
  // .gitignore names the folder, and not a link.
  appendFileSync(join(repository, ".git/info/exclude"), "node_modules\n");
}

function release(repository: string, ...args: string[]): Promise<CommandResult> {
  // With HOME, where Bun keeps the runtimes that it has downloaded.
  const command = [process.execPath, "scripts/release.ts", ...args];
  return runProgram(command, { cwd: repository, env: process.env });
}

describe("a release that cannot be made changes nothing, and says what to do", () => {
  test.each([
    ["an older version", "0.0.1", "older than"],
    ["a commit without a tag", "", `this commit has no tag v${packageJson.version}`],
  ])("%s", async (_, given, message) => {
    const { exitCode, stderr } = await release(copy, ...(given === "" ? [] : [given]));
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining(message) });
    expect(stderr).toMatch(/^release: [^\n]+\n$/);
    expect(await succeed(copy, ["git", "status", "--porcelain"])).toBe("");
  });

  test("changes that are not committed", async () => {
    appendFileSync(join(copy, "README.md"), "\n");
    const { exitCode, stderr } = await release(copy, version);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: "release: commit or remove these changes first:\nM README.md\n",
    });
    await succeed(copy, ["git", "checkout", "--", "README.md"]);
  });
});

describe("a release", () => {
  const artefacts = join(copy, "dist/release");
  const names = [
    "PROVENANCE.md",
    "SHA256SUMS",
    "plantstore.LICENSES",
    `plantstore-${version}.cdx.json`,
    `plantstore-${version}.tgz`,
    `plantstore-${hostTarget()}`,
    `plantstore-client-${version}.tgz`,
    `plantstore-conformance-${version}.tgz`,
  ];
  let result: CommandResult;
  beforeAll(async () => {
    result = await release(copy, version);
  });

  test("writes the version and the date, commits, and tags", async () => {
    // Bun says so when it has downloaded its runtime, on the first build of a machine.
    const { exitCode, stderr } = result;
    expect({
      exitCode,
      stderr: stderr.replace(/^(?:Downloading \[\d+\]|Decompressing\.\.\.|Extracting\.\.\.) \n/gm, ""),
    }).toEqual({
      exitCode: 0,
      stderr: "",
    });
    expect(await succeed(copy, ["git", "status", "--porcelain"])).toBe("");
    expect(await succeed(copy, ["git", "log", "-1", "--format=%s"])).toBe(`Release ${version}\n`);
    expect(await succeed(copy, ["git", "describe"])).toBe(`v${version}\n`);
    const changed = await succeed(copy, ["git", "show", "--format=", "--name-only"]);
    expect(changed.trim().split("\n")).toEqual([
      "CHANGELOG.md",
      "deploy/container/compose.yaml",
      "deploy/helm/plantstore/Chart.yaml",
      "docs/client.md",
      "docs/conformance.md",
      "docs/operating.md",
      "package-lock.json",
      "package.json",
      "packages/client/package.json",
      "packages/conformance/package.json",
    ]);
    const { dependencies: _, ...lock } = await Bun.file(join(copy, "package-lock.json")).json();
    const own = ["", "packages/client", "packages/conformance"].map((path) => lock.packages[path]);
    expect([lock, ...own].map((each) => each.version)).toEqual(Array(4).fill(version));
    const changelog = await Bun.file(join(copy, "CHANGELOG.md")).text();
    expect(changelog).toMatch(
      new RegExp(`^## Unreleased\\n\\n## ${RegExp.escape(version)} - \\d{4}-\\d\\d-\\d\\d\\n\\n\\S`, "m"),
    );
    for (const file of changed
      .trim()
      .split("\n")
      .filter((path) => !/CHANGELOG|lock/.test(path)))
      expect(await Bun.file(join(copy, file)).text()).not.toContain(`plantstore-${packageJson.version}`);
  });

  test("builds the packages, the executable, the bill of materials and the provenance, with their hashes", async () => {
    expect(readdirSync(artefacts).toSorted()).toEqual(names.toSorted());
    await succeed(artefacts, ["sha256sum", "--check", "--strict", "SHA256SUMS"]);
    const sums = await Bun.file(join(artefacts, "SHA256SUMS")).text();
    expect(sums.match(/^[0-9a-f]{64} {2}\S+$/gm)).toHaveLength(names.length - 1);
    const commit = (await succeed(copy, ["git", "rev-parse", "HEAD"])).trim();
    const executable = join(artefacts, `plantstore-${hostTarget()}`);
    const { stdout } = await runIn(folder.path, [executable, "--version"]);
    expect(stdout).toStartWith(`${version} (commit ${commit.slice(0, 12)}, `);
    expect(await Bun.file(join(artefacts, "PROVENANCE.md")).text()).toContain(`| Commit | ${commit} of `);
  });

  test("the bill of materials has every package that is installed or copied, and no other", async () => {
    const { components } = await Bun.file(join(artefacts, `plantstore-${version}.cdx.json`)).json();
    const { packages } = await Bun.file(join(root, "package-lock.json")).json();
    const found = new Set(components.map(({ name }: { name: string }) => name));
    const installed = Object.entries<{ dev?: boolean; link?: boolean }>(packages)
      .filter(([path, { dev, link }]) => path.startsWith("node_modules/") && !dev && !link)
      .map(([path]) => path.replace(/^.*node_modules\//, ""));
    expect(installed).toContain("pg-protocol");
    const copied = ["preact", "htm", "@opentelemetry/api", "@opentelemetry/otlp-transformer"];
    expect([...installed, ...copied].filter((name) => !found.has(name))).toEqual([]);
    for (const name of ["typescript", "knip", "fast-check"]) expect(found).not.toContain(name);
  });

  // Both builds have the packages of the repository that is tested: its path would not make them
  // differ.
  test("the executable contains no path of this machine", async () => {
    const bytes = Buffer.from(await Bun.file(join(artefacts, `plantstore-${hostTarget()}`)).arrayBuffer());
    expect([root, folder.path].filter((path) => bytes.includes(path))).toEqual([]);
  });

  test("a second build, in another folder, is the same byte for byte; the tag cannot be made again", async () => {
    const clone = folder.file("clone");
    await succeed(folder.path, ["git", "clone", "--quiet", copy, clone]);
    await prepare(clone);
    expect(await release(clone)).toMatchObject({ exitCode: 0, stderr: "" });
    const sumsOf = (repository: string) => Bun.file(join(repository, "dist/release/SHA256SUMS")).text();
    expect(await sumsOf(clone)).toBe(await sumsOf(copy));

    const again = await release(clone, version);
    expect(again).toMatchObject({ exitCode: 1, stderr: `release: the tag v${version} exists\n` });
  });
});
