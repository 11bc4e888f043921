// The code samples of the interface description, run as they stand: each creates the plant, or
// prints the Error.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { describeIfInstalled, programPath } from "../../support/programs.ts";
import { RunningServer, runProgram, TemporaryFolder } from "../../support/server.ts";

interface Sample {
  readonly label: string;
  readonly source: string;
}

/**
 * How the sample of each language is run: what it needs, in which package that is, the file, and
 * the command.
 */
const languages: Readonly<
  Record<string, readonly [program: string, debianPackage: string, file: string, ...string[]]>
> = {
  curl: ["curl", "curl", "create.sh", "sh"],
  TypeScript: [process.execPath, "bun", "create.ts", process.execPath],
  Python: ["python3", "python3", "create.py", "python3"],
  Go: ["go", "golang-go", "create.go", "go", "run"],
};

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
let server: RunningServer;
let samples: readonly Sample[];
beforeAll(async () => {
  server = resources.use(await RunningServer.startInProcess());
  const description = await (await fetch(`${server.url}/openapi.json`)).json();
  samples = (description as { paths: { "/plants": { post: { "x-codeSamples": Sample[] } } } }).paths[
    "/plants"
  ].post["x-codeSamples"];
});
afterAll(() => resources.disposeAsync());

test("there is a sample in every language that is run, and no other", () => {
  expect(samples.map(({ label }) => label)).toEqual(Object.keys(languages));
});

/** What a sample prints with a token in its environment. */
async function runSample(label: string, token: string): Promise<string> {
  const [, , file = "", program = "", ...options] = languages[label] ?? [];
  writeFileSync(folder.file(file), samples.find((sample) => sample.label === label)?.source ?? "");
  const command = [programPath(program), ...options, folder.file(file)];
  const env = { ...process.env, ACCESS_TOKEN: token };
  const { exitCode, stdout, stderr } = await runProgram(command, { env });
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
}

for (const [label, [program, debianPackage]] of Object.entries(languages)) {
  const suite = () => {
    test("creates the plant", async () => {
      const output = await runSample(label, await server.createToken());
      expect(output).toContain("200");
      expect(output).toMatch(/name['"]?:\s*['"]Monstera deliciosa['"],\s*['"]?tag['"]?:\s*['"]tropical['"]/);
      const { stdout } = await server.command("get", "1");
      expect(stdout).toBe('{"id":1,"name":"Monstera deliciosa","tag":"tropical"}\n');
    });

    test("prints the Error of a token that is not accepted", async () => {
      const output = await runSample(label, "unknown");
      expect(output).toContain("401");
      expect(output).toContain("40101");
    });
  };
  describeIfInstalled(program, label, suite, debianPackage);
}
