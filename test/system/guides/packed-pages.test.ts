// docs/sandbox-in-tests.md and docs/conformance.md: the text of the pages, performed in empty folders
// with the packed packages, with npm and Node, and with Bun.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { performBlock, type Replacements, runtimes, ShellSession } from "../../support/guide.ts";
import { codeBlocks } from "../../support/markdown.ts";
import { npmEnvironment, packConformance, packServer } from "../../support/npm-packages.ts";
import { RunningServer, runProgram, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const blocksOf = (page: string) => codeBlocks(readFileSync(join(root, page), "utf8"));
const stepMsMax = 300_000;

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
const environment = {
  ...npmEnvironment,
  HOME: process.env.HOME ?? folder.path,
  PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
  NO_COLOR: "1",
};

beforeAll(async () => {
  const packing = resources.use(new TemporaryFolder());
  copyFileSync(await packServer(packing), folder.file("plantstore-0.1.0.tgz"));
  const packingKit = resources.use(new TemporaryFolder());
  copyFileSync(await packConformance(packingKit), folder.file("plantstore-conformance-0.1.0.tgz"));
}, stepMsMax);
afterAll(() => resources.disposeAsync());

/** A server whose ids are doubles, as those of JSON.parse are. */
function serveDoubles(token: string) {
  const taken = new Set<number>();
  const failure = (status: number, message: string) => Response.json({ error: status, message }, { status });
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (request.headers.get("authorization") !== `Bearer ${token}`) return failure(401, "Who are you?");
      const body = await request.json().catch(() => undefined);
      const { id, name, tag = "" } = Object(body);
      if (!Number.isInteger(id) || Math.abs(id) > 2 ** 63 || `${name}` !== name || `${tag}` !== tag)
        return failure(400, "The body is not a plant");
      if (taken.has(id)) return failure(400, `The id ${id} is taken`);
      taken.add(id);
      return Response.json({ name, tag: Object(body).tag });
    },
  });
}

describe.each(runtimes)("with %s", (runtime, replacements) => {
  const project = (name: string) => {
    const path = folder.file(`${name}-${runtime.replaceAll(" ", "-")}`);
    mkdirSync(path, { recursive: true });
    return path;
  };

  test(
    "the page on sandboxes in tests",
    async () => {
      const path = project("tests");
      await using shell = new ShellSession(path, environment);
      const [all, last] = [blocksOf("docs/sandbox-in-tests.md"), "node --test"];
      let printed: string | undefined;
      for (const block of all)
        printed = await performBlock(block, path, shell, [[last, `${last} 2>&1`], ...replacements]);
      expect(all.map(({ language }) => language)).toEqual(["sh", "js plants.test.mjs", "sh"]);
      expect(printed).toMatch(/^(?:# pass 1|ℹ pass 1| 1 pass)$/m);
    },
    stepMsMax,
  );

  describe("the page on the kit", () => {
    const all = blocksOf("docs/conformance.md");
    const report = all.find(({ language }) => language === "");
    const commands = all.filter(({ language }) => language === "sh");
    const token = "pst_a-token-that-is-a-secret";

    /** Runs a command of the page against a server. */
    async function check(command: string, url: string, own: string) {
      const path = project("kit");
      const addresses: Replacements = [["http://127.0.0.1:8080", url]];
      const kit: Replacements = [
        [
          "npx --yes ../plantstore-conformance-0.1.0.tgz",
          "bun add --silent ../plantstore-conformance-0.1.0.tgz && bunx --bun plantstore-conformance",
        ],
      ];
      const replaced = [...addresses, ...(runtime === "Bun" ? kit : []), ...replacements].reduce(
        (text, [from, to]) => text.replaceAll(from, to),
        command,
      );
      const env = { ...environment, PATH: `${path}/node_modules/.bin:${environment.PATH}`, TOKEN: own };
      return await runProgram(["sh", "-ec", replaced], { cwd: path, env });
    }

    beforeAll(async () => {
      const install = "npm init --yes >/dev/null\nnpm install --silent ../plantstore-0.1.0.tgz\n";
      await using shell = new ShellSession(project("kit"), environment);
      await performBlock({ heading: "", language: "sh", text: install }, project("kit"), shell, replacements);
    }, stepMsMax);

    test.each(commands.map(({ text }) => text))(
      "%s",
      async (command) => {
        await using server = await RunningServer.startInProcess({
          database: `sqlite:${folder.file(`${crypto.randomUUID()}.db`)}`,
        });
        const kept = await check(command, server.url, await server.createToken());
        expect(kept).toMatchObject({
          exitCode: 0,
          stdout: expect.stringMatching(/^(\d+) of \1 rules hold, 0 /m),
        });

        using doubles = serveDoubles(token);
        const { exitCode, stdout } = await check(command, doubles.url.origin, token);
        const shown = (report?.text ?? "")
          .replaceAll("http://127.0.0.1:8080", doubles.url.origin)
          .split(/…|-?\d{15,}/)
          .map(RegExp.escape)
          .join("[^\\n]*");
        expect(stdout).toMatch(new RegExp(`^${shown}`, "m"));
        expect(exitCode).toBe(1);
      },
      stepMsMax,
    );
  });
});
