// What mock servers and a small service miss of the contract: docs/conformance.md has it as a
// table, which is measured here. Skipped where npm cannot install them.

import { afterAll, expect, test } from "bun:test";
import { copyFileSync, writeFileSync } from "node:fs";
import { bases, describeBasis } from "../../../src/conformance/rule.ts";
import { countOutcomes } from "../../../src/conformance/run.ts";
import { checkConformance } from "../../support/conformance.ts";
import { eventually } from "../../support/eventually.ts";
import { rowsOf } from "../../support/markdown.ts";
import { npmEnvironment } from "../../support/npm-packages.ts";
import { Output } from "../../support/output.ts";
import { reservePort } from "../../support/ports.ts";
import { describeUnless, programPath, toolsMissing } from "../../support/programs.ts";
import { runProgram, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const token = "sandbox";

const packages = ["@stoplight/prism-cli@5.16.0", "json-server@0.17.4", "express@5.3.0"];

interface OtherServer {
  /** As the head of the table names it. */
  readonly name: string;
  /** How long a response is waited for. */
  readonly timeoutMs: number;
  /** The arguments of Node. */
  readonly command: (port: number) => readonly string[];
}

/** In the order of the table's columns. */
const servers: readonly OtherServer[] = [
  {
    name: "Prism 5.16.0",
    // It never responds to a body that is not JSON, and stores nothing: other responses take
    // milliseconds.
    timeoutMs: 1_500,
    command: (port) => [
      "node_modules/@stoplight/prism-cli/dist/index.js",
      "mock",
      "-p",
      `${port}`,
      `${root}/openapi.yaml`,
    ],
  },
  {
    name: "json-server 0.17.4",
    timeoutMs: 20_000,
    command: (port) => [
      "node_modules/json-server/lib/cli/bin.js",
      "--port",
      `${port}`,
      "--host",
      "127.0.0.1",
      "db.json",
    ],
  },
  { name: "Express 5.3.0", timeoutMs: 20_000, command: (port) => ["express-service.mjs", `${port}`] },
];

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());
const folder = resources.use(new TemporaryFolder());

/** Why the servers cannot be installed; undefined once they are. Their scripts are not run. */
async function install(): Promise<string | undefined> {
  writeFileSync(folder.file("package.json"), '{"private": true}');
  const command = ["npm", "install", "--ignore-scripts", "--save-exact", ...packages];
  const env = { ...process.env, ...npmEnvironment };
  const { exitCode } = await runProgram(command, { cwd: folder.path, env });
  return exitCode === 0 ? undefined : "npm cannot install the other servers";
}

/** Starts a server, and waits until it responds. */
async function start({ command, name }: OtherServer): Promise<string> {
  const port = reservePort();
  const child = Bun.spawn([programPath("node"), ...command(port)], {
    cwd: folder.path,
    env: { PATH: process.env.PATH ?? "", TOKEN: token },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  resources.defer(() => {
    child.kill("SIGKILL");
  });
  const stderr = new Output(child.stderr);
  const url = `http://127.0.0.1:${port}`;
  const responds = () =>
    fetch(url).then(
      () => true,
      () => child.exitCode !== null,
    );
  await eventually(`${name} responds`, responds);
  if (child.exitCode !== null) throw new Error(`${name} did not start: ${await stderr.ended}`);
  return url;
}

const missing = toolsMissing ?? (await install());

describeUnless(missing, "other servers", () => {
  test("miss what the table in docs/conformance.md says", async () => {
    copyFileSync(
      new URL("express-service.mjs", import.meta.url).pathname,
      folder.file("express-service.mjs"),
    );
    writeFileSync(folder.file("db.json"), '{"plants": []}');
    const urls = await Promise.all(servers.map(start));
    const reports = await Promise.all(
      servers.map(async ({ timeoutMs }, index) =>
        checkConformance({ url: urls[index] ?? "", token }, { timeoutMs }),
      ),
    );
    const page = await Bun.file(`${root}/docs/conformance.md`).text();
    const [head] = rowsOf(page, /^\| Rules that hold \|/);
    expect(head).toEqual(["Rules that hold", ...servers.map(({ name }) => name)]);
    const measured = bases.map((basis) => [
      `of ${describeBasis(basis)}`,
      ...reports.map(({ results }) => {
        const { holds, rules } = countOutcomes(results.filter(({ rule }) => rule.basis === basis));
        return `${holds} of ${rules}`;
      }),
    ]);
    expect(rowsOf(page, /^\| of /)).toEqual(measured);
  });
});
