// The workflows of GitHub Actions: actionlint finds nothing in them, and their commands are those
// of this repository.

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../../package.json";
import { describeUnless, pathOf, programPath, toolsMissing } from "../../support/programs.ts";
import { runIn, runProgram } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const actionlint = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

/** Why actionlint cannot run here; undefined if it can. */
async function missing(): Promise<string | undefined> {
  if (pathOf("go") === null) return "install golang-go";
  const download = [programPath("go"), "mod", "download", actionlint.replace("/cmd/actionlint", "")];
  const { exitCode } = await runProgram(download, { env: process.env });
  return exitCode === 0 ? undefined : "go cannot download actionlint";
}

describeUnless(toolsMissing ?? (await missing()), "actionlint", () => {
  test("finds nothing", async () => {
    const command = [programPath("go"), "run", actionlint, "-no-color"];
    const { exitCode, stdout, stderr } = await runProgram(command, { cwd: root, env: process.env });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "" });
    expect(stderr).not.toContain("no project was found");
  });
});

test("the scripts that they run are there, with the oldest Node that is supported", async () => {
  const texts = await Promise.all(
    ["ci", "release"].map((name) => Bun.file(join(root, `.github/workflows/${name}.yml`)).text()),
  );
  const scripts = texts.flatMap((text) => [...text.matchAll(/npm run (\S+)/g)].map(([, name = ""]) => name));
  expect(scripts).toContain("release");
  expect(Object.keys(packageJson.scripts)).toEqual(expect.arrayContaining([...new Set(scripts)]));
  expect(existsSync(join(root, ".ci/run"))).toBe(true);
  for (const text of texts) {
    const versions = [...text.matchAll(/node-version: (\S+)/g)].map(([, version]) => `>=${version}`);
    expect([...new Set(versions)]).toEqual([packageJson.engines.node]);
  }
});

test("the notes of a release are the part of the changelog that its version has", async () => {
  const workflow = await Bun.file(join(root, ".github/workflows/release.yml")).text();
  const program = /awk -v \S+ ('[^']+')/.exec(workflow)?.[1];
  const changelog =
    "# Changelog\n\n## Unreleased\n\n- c\n\n## 1.10.0 - 2026-02-01\n\n- b\n\n## 1.1.0 - 2026-01-01\n\n- a\n";
  const { stdout } = await runIn(root, ["sh", "-c", `awk -v version=1.10.0 ${program}`], changelog);
  expect(stdout).toBe("\n- b\n\n");
});
