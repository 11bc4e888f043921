// docs/guides/start-your-own-service.md: the text of the page, performed in an empty folder with
// the packed package. A failure names the step that no longer applies.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ShellSession } from "../../support/guide.ts";
import { type CodeBlock, codeBlocks, outputAfter } from "../../support/markdown.ts";
import { npmEnvironment, packServer } from "../../support/npm-packages.ts";
import { reservePort } from "../../support/ports.ts";
import { sharedPostgres } from "../../support/postgres.ts";
import { describeIfInstalled } from "../../support/programs.ts";
import { TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const page = "docs/guides/start-your-own-service.md";
const guide = readFileSync(join(root, page), "utf8");
const blocks = codeBlocks(guide);
const headings = [...new Set(blocks.map(({ heading }) => heading))];

const stepMsMax = 300_000;

test("the page has at most 600 words, and its own operation with its test at most 40 lines", () => {
  expect(guide.trim().split(/\s+/).length).toBeLessThanOrEqual(600);
  const files = blocks.filter(({ language }) => language.startsWith("ts "));
  expect(files.flatMap(({ text }) => text.trimEnd().split("\n")).length).toBeLessThanOrEqual(40);
});

describeIfInstalled("curl", "the steps of the guide", () => {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  const project = folder.file("project");
  const [port, adminPort] = [String(reservePort()), String(reservePort())];
  let shell: ShellSession;
  let tarball: string;
  let database: string;
  /** The step that failed, on which all later ones depend. */
  let failed: string | undefined;

  beforeAll(async () => {
    mkdirSync(project);
    tarball = await packServer(folder);
    database = (await resources.use(await sharedPostgres()).newDatabase()).address;
    const { PATH = "", HOME = folder.path } = process.env;
    shell = resources.use(
      new ShellSession(project, {
        PATH,
        HOME,
        ...npmEnvironment,
        PLANTSTORE_PORT: port,
        PLANTSTORE_ADMIN_PORT: adminPort,
      }),
    );
  }, stepMsMax);
  afterAll(() => resources.disposeAsync());

  async function perform(block: CodeBlock): Promise<void> {
    const [language, path] = block.language.split(" ");
    if (path !== undefined) await Bun.write(join(project, path), block.text.replaceAll("8080", port));
    if (language !== "sh") return;
    const script = block.text
      .replaceAll("8080", port)
      .replace("install --silent plantstore", () => `install --silent ${tarball}`)
      .replace(/postgres:\/\/\S+/, () => database);
    const output = await shell.run(script);
    const expected = outputAfter(block, blocks);
    // curl ends a body without a line end.
    if (expected !== undefined) expect(`${output.trimEnd()}\n`).toMatch(expected);
  }

  test.each(headings)(
    "%s",
    async (step) => {
      if (failed !== undefined) throw new Error(`not performed, as the step "${failed}" failed`);
      try {
        for (const block of blocks.filter(({ heading }) => heading === step)) await perform(block);
      } catch (error) {
        failed = step;
        throw new Error(`${page}, step "${step}": ${error instanceof Error ? error.message : error}`, {
          cause: error,
        });
      }
    },
    stepMsMax,
  );
});
