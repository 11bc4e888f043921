// The contract testers of docs/guides/test-your-api-tool.md against a sandbox, by the commands of
// the guide.

import { afterAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { contractFile } from "../../support/contract-sandbox.ts";
import { addressesOf, copyExample, readGuide, runScript, runScriptOrThrow } from "../../support/guide.ts";
import { npxMissing } from "../../support/npm-packages.ts";
import { describeUnless, pathOf, toolsMissing } from "../../support/programs.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { TemporaryFolder } from "../../support/server.ts";

const guide = await readGuide("docs/guides/test-your-api-tool.md");

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
const sandbox = resources.use(await RunningSandbox.start());
beforeEach(() => sandbox.control("POST", "/reset"));
afterAll(() => resources.disposeAsync());

/** The commands of the guide that contain a text, for the sandbox. */
function commands(contains: string): string {
  return guide.block("sh", contains, addressesOf(sandbox));
}

/** Where Schemathesis is installed, and kept between runs. */
const schemathesisFolder = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"),
  "plantstore-tools/python",
);

/** Why Schemathesis cannot be installed; undefined if it is. */
async function schemathesisMissing(): Promise<string | undefined> {
  if (pathOf("python3") === null) return "install python3";
  const install = guide.block("sh", "pip install schemathesis");
  const done = join(schemathesisFolder, `installed-${Bun.hash(install).toString(36)}`);
  if (existsSync(done)) return undefined;
  mkdirSync(schemathesisFolder, { recursive: true });
  if ((await runScript(install, schemathesisFolder)).exitCode !== 0)
    return "pip cannot install schemathesis, or python3-venv is missing";
  writeFileSync(done, install);
  return undefined;
}

describeUnless(toolsMissing ?? (await schemathesisMissing()), "Schemathesis", () => {
  const inPlace = (script: string) =>
    script.replaceAll("schemathesis/bin/", `${schemathesisFolder}/schemathesis/bin/`);
  test("reports one failure, a duplicate; and passes all phases when each case finds an empty store", async () => {
    const command = inPlace(commands("--continue-on-failure")).trim();
    const { exitCode, output } = await runScript(`${command} --max-examples 20`, folder.path);
    expect(exitCode).toBe(1);
    expect(output).toMatch(/^ +❌ ST202 Schema-valid request rejected: 1$/m);
    expect(output).toContain("40009");

    await copyExample("hooks.py", folder.path, addressesOf(sandbox));
    const passed = await runScript(inPlace(commands("SCHEMATHESIS_HOOKS")), folder.path);
    expect(passed).toMatchObject({ exitCode: 0, output: expect.stringContaining("No issues found") });
  });

  test.each([
    "pets.yaml",
    "planets.json",
    "visits.yaml",
    "bookings.yaml",
    "parcels.yaml",
    "members.yaml",
    "codes.yaml",
  ])("finds no response that %s does not allow, but the 501s of what is not served", async (name) => {
    await using other = await RunningSandbox.start({ args: ["--contract", contractFile(name)] });
    const checks = [
      "not_a_server_error",
      "status_code_conformance",
      "content_type_conformance",
      "response_headers_conformance",
      "response_schema_conformance",
      "use_after_free",
      "ensure_resource_availability",
    ];
    const run = `schemathesis/bin/schemathesis run ${other.url}/openapi.json --checks ${checks} -H "Authorization: Bearer sandbox" -H "X-API-Key: sandbox" --max-examples 50 --no-color`;
    const { output } = await runScript(inPlace(run), folder.path);
    const found = [...output.matchAll(/^- (ST\d+ .*)\n+\[(\d+)\]/gm)].map(([, fault, status]) => [
      fault,
      status,
    ]);
    expect(found.filter(([fault, status]) => fault !== "ST101 Server error" || status !== "501")).toEqual([]);
    expect(Number(/(\d+) generated/.exec(output)?.[1])).toBeGreaterThan(100);
    // It may also warn, such as of an id that is a text in the path and an integer in the body.
    expect(output.includes("FAILURES")).toBe(name === "planets.json" || name === "parcels.yaml");
  });

  test("finds no valid rule, token or clock that control rejects", async () => {
    const run = `schemathesis/bin/schemathesis run ${sandbox.controlUrl}/openapi.json --include-path-regex 'rules|tokens|clock'`;
    const { exitCode, output } = await runScript(inPlace(run), folder.path);
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
    expect(Number(/(\d+) generated/.exec(output)?.[1])).toBeGreaterThan(100);
  });
});

async function newmanMissing(): Promise<string | undefined> {
  const reasons = await Promise.all(["openapi-to-postmanv2@6.3.3", "newman@6.2.2"].map(npxMissing));
  return reasons.find((reason) => reason !== undefined);
}

describeUnless(toolsMissing ?? (await newmanMissing()), "Newman", () => {
  test("creates the plant of the example with the generated collection, and passes the guide's checks", async () => {
    const place = folder.file("newman");
    mkdirSync(place);
    expect(await runScriptOrThrow(commands("openapi-to-postmanv2"), place)).toContain("[200 OK,");
    expect(await sandbox.resources()).toEqual([{ id: 1n, name: "Monstera deliciosa", tag: "tropical" }]);

    await copyExample("checks.mjs", place);
    await copyExample("plants.json", place);
    const output = await runScriptOrThrow(commands("--iteration-data"), place);
    expect(output).toMatch(/assertions │ +7 │ +0 │/);
    expect(await sandbox.resources()).toEqual([
      { id: 1n, name: "Monstera deliciosa", tag: "tropical" },
      { id: 9007199254740992n, name: "Ficus" },
      { id: 9007199254740993n, name: "Monstera" },
    ]);
  });
});

async function dreddMissing(): Promise<string | undefined> {
  return (await npxMissing("dredd@14.1.0")) ?? (await npxMissing("@apiture/openapi-down-convert@0.14.2"));
}

describeUnless(toolsMissing ?? (await dreddMissing()), "Dredd", () => {
  test("passes all transactions with the hooks, and fails without them", async () => {
    await using rated = await RunningSandbox.start({ args: ["--token-rate", "1000"] });
    const command = guide.block("sh", "npx dredd", addressesOf(rated));
    const place = folder.file("dredd");
    mkdirSync(place);
    await copyExample("dredd-hooks.cjs", place);
    expect(await runScriptOrThrow(command, place)).toContain("12 passing, 0 failing, 0 errors, 0 skipped");
    const { exitCode } = await runScript(command.replace(" --hookfiles dredd-hooks.cjs", ""), place);
    expect(exitCode).toBe(1);
  });
});
