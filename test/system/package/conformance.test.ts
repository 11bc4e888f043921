// The conformance kit as a consumer gets it: packed by npm without the server's code, and run by
// Node.

import { expect, test } from "bun:test";
import { basename, dirname } from "node:path";
import { allRules as rules } from "../../support/conformance.ts";
import { foreignCodeRun } from "../../support/foreign-code.ts";
import { npmEnvironment, packConformance, succeed, unpack } from "../../support/npm-packages.ts";
import { RunningServer, runIn, runProgram, TemporaryFolder } from "../../support/server.ts";

test("npx runs the package on Node", async () => {
  using folder = new TemporaryFolder();
  const tarball = await packConformance(folder);
  await unpack(tarball, folder.file("unpacked"));
  const files = await succeed(folder.file("unpacked"), ["find", ".", "-type", "f"]);
  expect(files.trim().split("\n").toSorted()).toEqual([
    "./LICENSE",
    "./README.md",
    "./dist/main.js",
    "./package.json",
  ]);

  await using server = await RunningServer.startInProcess({ database: `sqlite:${folder.file("plants.db")}` });
  const token = await server.createToken();
  const check = async (...args: string[]) => {
    const npx = ["npx", "--yes", `./${basename(tarball)}`, "--url", server.url, ...args];
    const env = { ...process.env, ...npmEnvironment, PLANTSTORE_CONFORMANCE_TOKEN: token };
    const { exitCode, stdout, stderr } = await runProgram(npx, { cwd: dirname(tarball), env });
    return { exitCode, stdout, stderr: stderr.replaceAll(/^npm warn .*\n/gm, "") };
  };
  const { exitCode, stdout, stderr } = await check("--basis", "all", "--json", "-");
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(JSON.parse(stdout).summary).toMatchObject({ rules: rules.length, fails: 0, skipped: 1 });
  const contract = new URL("../../contracts/parcels.yaml", import.meta.url).pathname;
  const listed = await check("--list", "--contract", contract);
  expect(listed).toMatchObject({ exitCode: 0, stderr: "" });
  expect(listed.stdout).toContain("  A valid parcel gets 201, and a Parcel with its members.\n");
  const wrong = await check("--rules", "ids");
  expect(wrong.exitCode).toBe(2);
  expect(wrong.stderr).toMatch(/^plantstore-conformance: Unknown option '--rules'/);
  const unreachable = await check("--url", "http://127.0.0.1:1");
  expect(unreachable.exitCode).toBe(3);
  expect(unreachable.stderr).toMatch(/^plantstore-conformance: cannot connect to 127\.0\.0\.1:1: [^\n]+\n$/);
});

test("it runs no code of the folder where it runs", async () => {
  using folder = new TemporaryFolder();
  await unpack(await packConformance(folder), folder.file("unpacked"));
  const run = async (current: string) => {
    const { exitCode, stdout } = await runIn(current, [folder.file("unpacked/dist/main.js"), "--list"]);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("ids.beyond-53-bits")]);
  };
  expect(await foreignCodeRun(run)).toEqual([]);
});
