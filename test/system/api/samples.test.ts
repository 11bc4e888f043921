// The code samples of the interface description, run as they stand: each creates, lists or deletes
// the plant, or prints the Error.

import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { describeIfInstalled, programPath } from "../../support/programs.ts";
import { RunningServer, runProgram, TemporaryFolder } from "../../support/server.ts";

interface Sample {
  readonly label: string;
  readonly source: string;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
}

interface Described {
  readonly operationId: string;
  readonly "x-codeSamples": readonly Sample[];
}

/** How the sample of each language is run: what it needs, the file, and the command. */
const languages: Readonly<Record<string, readonly [program: string, file: string, command: string]>> = {
  curl: ["curl", "sample.sh", "sh"],
  TypeScript: [process.execPath, "sample.ts", process.execPath],
  Python: ["python3", "sample.py", "python3"],
};

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
const server = resources.use(
  await RunningServer.startInProcess({ args: ["--operations", "create,list,delete"] }),
);
const description = (await (await fetch(`${server.url}/openapi.json`)).json()) as Description;
const operations = Object.values(description.paths).flatMap((path) => Object.values(path));
const samples: Readonly<Record<string, readonly Sample[]>> = Object.fromEntries(
  operations.map((each) => [each.operationId, each["x-codeSamples"]]),
);
afterAll(() => resources.disposeAsync());

test("every operation has a sample in every language that is run, and no other", () => {
  expect(Object.keys(samples).toSorted()).toEqual(["createPlant", "deletePlant", "listPlants"]);
  for (const each of Object.values(samples))
    expect(each.map(({ label }) => label)).toEqual(Object.keys(languages));
});

/** Runs a sample with a token in its environment, and returns what it prints. */
async function runSample(operationId: string, label: string, token: string): Promise<string> {
  const [, file = "", program = ""] = languages[label] ?? [];
  const source = samples[operationId]?.find((sample) => sample.label === label)?.source;
  writeFileSync(folder.file(file), source ?? "");
  const command = [programPath(program), folder.file(file)];
  const env = { ...process.env, ACCESS_TOKEN: token };
  const { exitCode, stdout, stderr } = await runProgram(command, { env });
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}

for (const [label, [program]] of Object.entries(languages)) {
  describeIfInstalled(program, label, () => {
    test("creates the plant, lists it and deletes it", async () => {
      const token = await server.createToken();
      const output = await runSample("createPlant", label, token);
      expect(output).toContain("200");
      expect(output).toMatch(/name['"]?:\s*['"]Monstera deliciosa['"],\s*['"]?tag['"]?:\s*['"]tropical['"]/);
      const plant = '{"name":"Monstera deliciosa","tag":"tropical"}';
      expect((await server.command("get", "1")).stdout).toBe(`{"id":1,${plant.slice(1)}\n`);
      const listed = await runSample("listPlants", label, token);
      expect(listed).toContain("200");
      expect(listed).toContain(`[${plant}]`);
      expect(await runSample("deletePlant", label, token)).toContain("204");
      expect((await server.command("get", "1")).exitCode).toBe(1);
    });

    test.each(["createPlant", "listPlants", "deletePlant"])(
      "%s prints the Error of a token that is not accepted",
      async (operationId) => {
        const output = await runSample(operationId, label, "unknown");
        expect(output).toContain("401");
        expect(output).toContain("40101");
      },
    );
  });
}
