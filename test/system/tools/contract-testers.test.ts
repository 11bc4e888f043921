// The contract testers of docs/guides/test-your-api-tool.md against a sandbox, by the commands of
// the guide.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import {
  addressesOf,
  copyExample,
  installOnce,
  readGuide,
  runScript,
  runScriptOrThrow,
  toolFolder,
} from "../../support/guide.ts";
import { npxMissing } from "../../support/npm-packages.ts";
import { describeUnless, pathOf, toolsMissing } from "../../support/programs.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { TemporaryFolder } from "../../support/server.ts";

const guide = await readGuide("docs/guides/test-your-api-tool.md");

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
let sandbox: RunningSandbox;
beforeAll(async () => {
  sandbox = resources.use(await RunningSandbox.start());
});
beforeEach(() => sandbox.control("POST", "/reset"));
afterAll(() => resources.disposeAsync());

/** The commands of the guide that contain a text, for the sandbox. */
function commands(contains: string): string {
  return guide.block("sh", contains, addressesOf(sandbox));
}

const schemathesisFolder = toolFolder("python");

/** Why Schemathesis cannot be installed; undefined if it is. */
async function schemathesisMissing(): Promise<string | undefined> {
  if (pathOf("python3") === null) return "install python3";
  const isInstalled = await installOnce(guide.block("sh", "pip install schemathesis"), schemathesisFolder);
  return isInstalled ? undefined : "pip cannot install schemathesis, or python3-venv is missing";
}

describeUnless(toolsMissing ?? (await schemathesisMissing()), "Schemathesis", () => {
  const inPlace = (script: string) =>
    script.replaceAll("schemathesis/bin/", `${schemathesisFolder}/schemathesis/bin/`);
  const summaryOf = (output: string) =>
    [...output.matchAll(/^ +(?:✅|❌|⏭) +(Examples|Coverage|Fuzzing|Stateful \(.*\))$/gmu)].map(([line]) =>
      line.trim().replace(/ +/, " "),
    );

  test("reports one failure, a duplicate that is 400 with 40009", async () => {
    const command = inPlace(commands("--continue-on-failure")).trim();
    const report = folder.file("schemathesis.ndjson");
    const { exitCode, output } = await runScript(
      `${command} --max-examples 20 --report ndjson --report-ndjson-path ${report}`,
      folder.path,
    );
    expect(exitCode).toBe(1);
    expect(output).toMatch(/^ +❌ ST202 Schema-valid request rejected: 1$/m);
    expect(output.match(/^- /gm)).toHaveLength(1);
    expect(summaryOf(output)).toContain("⏭ Stateful (not applicable)");

    const failed = (await Bun.file(report).text())
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line).ScenarioFinished?.recorder)
      .filter((recorder) => recorder !== undefined)
      .flatMap(({ checks, interactions }) =>
        Object.entries<{ name: string; status: string }[]>(checks).flatMap(([id, results]) =>
          results
            .filter(({ status }) => status === "failure")
            .map(({ name }) => ({ name, ...errorOf(interactions[id].response) })),
        ),
      );
    expect(failed.length).toBeGreaterThan(0);
    for (const each of failed)
      expect(each).toEqual({ name: "positive_data_acceptance", status: 400, error: 40009 });
  });

  test("passes all phases when each case finds an empty store", async () => {
    await copyExample("hooks.py", folder.path, addressesOf(sandbox));
    const command = inPlace(commands("SCHEMATHESIS_HOOKS"));
    const { exitCode, output } = await runScript(command, folder.path);
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
    expect(summaryOf(output)).toEqual([
      ...["✅ Examples", "✅ Coverage", "✅ Fuzzing"],
      "⏭ Stateful (not applicable)",
    ]);
    expect(Number(/(\d+) generated/.exec(output)?.[1])).toBeGreaterThan(100);
    expect(output).toContain("No issues found");
  });
});

/** The status and the error code of a recorded response. */
function errorOf({
  status_code: status,
  content: { $base64: body },
}: {
  readonly status_code: number;
  readonly content: { readonly $base64: string };
}) {
  return { status, error: JSON.parse(Buffer.from(body, "base64").toString()).error };
}

async function newmanMissing(): Promise<string | undefined> {
  const reasons = await Promise.all(["openapi-to-postmanv2@6.3.3", "newman@6.2.2"].map(npxMissing));
  return reasons.find((reason) => reason !== undefined);
}

describeUnless(toolsMissing ?? (await newmanMissing()), "Newman", () => {
  test("creates the plant of the example with the generated collection, and passes the guide's checks", async () => {
    const place = folder.file("newman");
    mkdirSync(place);
    expect(await runScriptOrThrow(commands("openapi-to-postmanv2"), place)).toContain("[200 OK,");
    expect(await sandbox.plants()).toEqual([{ id: 1n, name: "Monstera deliciosa", tag: "tropical" }]);

    await copyExample("checks.mjs", place);
    await copyExample("plants.json", place);
    const output = await runScriptOrThrow(commands("--iteration-data"), place);
    expect(output).toMatch(/assertions │ +7 │ +0 │/);
    expect(await sandbox.plants()).toEqual([
      { id: 1n, name: "Monstera deliciosa", tag: "tropical" },
      { id: 9007199254740992n, name: "Ficus" },
      { id: 9007199254740993n, name: "Monstera" },
    ]);
    // The checks can fail: the ids hold other plants now.
    await sandbox.control("POST", "/reset");
    await runScriptOrThrow(
      `curl -fsS ${sandbox.url}/plants -H 'Authorization: Bearer sandbox' -H 'Content-Type: application/json' -d '{"id": 9007199254740993, "name": "other"}'`,
      place,
    );
    const { exitCode, output: failure } = await runScript(commands("--iteration-data"), place);
    expect(exitCode).toBe(1);
    expect(failure).toMatch(/assertions │ +7 │ +2 │/);
  });
});

describeUnless(toolsMissing ?? (await npxMissing("dredd@14.1.0")), "Dredd", () => {
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

const k6Folder = toolFolder("go");
const k6Package = "go.k6.io/k6@v1.8.1";

const k6Installation = `GOBIN="$PWD/${k6Package}" go install ${k6Package}`;

/** Why k6 cannot be built; undefined if it is there. Its first build takes more than a minute. */
async function k6Missing(): Promise<string | undefined> {
  if (existsSync(`${k6Folder}/${k6Package}/k6`)) return undefined;
  if (pathOf("go") === null) return "install golang-go";
  return (await installOnce(k6Installation, k6Folder)) ? undefined : "go cannot download k6";
}

describeUnless(toolsMissing ?? (await k6Missing()), "k6", () => {
  test("creates 1,000 plants, and all checks pass", async () => {
    expect(guide.text).toContain(`go install ${k6Package}\``);
    await copyExample("create.js", folder.path);
    const command = commands("k6 run").replace("k6 run", `${k6Folder}/${k6Package}/k6 run`);
    for (const _ of ["created", "sent again"]) {
      const { exitCode, output } = await runScript(command, folder.path, { K6_NO_USAGE_REPORT: "true" });
      expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
      expect(output).toMatch(/checks_succeeded\.*: 100\.00% 2000 out of 2000/);
    }
    const { json } = await sandbox.control("GET");
    expect(json).toMatchObject({ plants: 1_000n });
  });
});
