// docs/guides/start-your-own-service.md: every step of it, on one copy of the repository, and then
// tests of the result. A failure names the step of the guide that no longer applies.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, cpSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { ShellSession } from "../../support/guide.ts";
import { type CodeBlock, codeBlocks, outputAfter, rowsOf } from "../../support/markdown.ts";
import { succeed } from "../../support/npm-packages.ts";
import { reservePort } from "../../support/ports.ts";
import { describeIfInstalled, programPath } from "../../support/programs.ts";
import { copyRepository } from "../../support/repository-copy.ts";
import { runIn, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const page = "docs/guides/start-your-own-service.md";
const guide = readFileSync(join(root, page), "utf8");
const blocks = codeBlocks(guide);

/** The headings with something to do. */
const steps = [...new Set(blocks.map(({ heading }) => heading))];

/**
 * With PLANTSTORE_TEST_GUIDE=all, as in `npm run test:long`, all tests of the result are run;
 * otherwise those that a step is most likely to break.
 */
const isComplete = process.env.PLANTSTORE_TEST_GUIDE === "all";
const suites = [
  "unit/core/contract/",
  "unit/console/import-settings.test.ts",
  "unit/project/tidy.test.ts",
  "integration/client/create.test.ts",
  "integration/core/http/openapi.test.ts",
];
const suiteArguments = isComplete ? "" : ` -- ${suites.map((suite) => `./test/${suite}`).join(" ")}`;

/** Gives a copy packages of its own: hard links where the file system can, which takes a second. */
async function copyPackages(copy: string): Promise<void> {
  const [from, to] = [join(root, "node_modules"), join(copy, "node_modules")];
  const { exitCode } = await runIn(root, [programPath("cp"), "-al", from, to]);
  if (exitCode !== 0) cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  // npm writes this file in place.
  const lock = join(to, ".package-lock.json");
  copyFileSync(lock, `${lock}.new`);
  renameSync(`${lock}.new`, lock);
}

const stepMsMax = 500_000;

test("every block is a script, its output, a diff or a file, and every step is one of the table", () => {
  for (const { language } of blocks) expect(language).toMatch(/^(?:|sh|diff|ts (?:src|test)\/[\w/.-]+)$/);
  const listed = rowsOf(guide, /^\| \[Add/).map(([link = ""]) => /\[(.+)\]/.exec(link)?.[1]);
  expect(steps).toEqual([...listed.map(String), "Run the suite"]);
});

function suite(): void {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  const copy = folder.file("copy");
  const port = String(reservePort());
  let shell: ShellSession;
  /** The step that failed, on which all later ones depend. */
  let failed: string | undefined;
  let tree = "";

  beforeAll(async () => {
    await copyRepository(copy);
    await copyPackages(copy);
    tree = await snapshot();
    await succeed(copy, ["git", "commit", "--quiet", "--message", "Start"]);
    const { PATH = "", HOME = folder.path } = process.env;
    shell = resources.use(new ShellSession(copy, { PATH, HOME }));
  });
  afterAll(() => resources.disposeAsync());

  /** The id of the tree of all files as they are now. */
  async function snapshot(): Promise<string> {
    await succeed(copy, ["git", "add", "--all"]);
    return (await succeed(copy, ["git", "write-tree"])).trim();
  }

  async function perform(block: CodeBlock): Promise<void> {
    const [language, path = ""] = block.language.split(" ");
    if (language === "ts") await Bun.write(join(copy, path), block.text);
    if (language === "diff") {
      const { exitCode, stderr } = await runIn(copy, ["git", "apply", "-"], block.text);
      if (exitCode !== 0) throw new Error(`this diff no longer applies:\n${block.text}\n${stderr}`);
    }
    if (language !== "sh") return;
    const output = await shell.run(
      block.text.replaceAll("8080", port).replace(/^npm test$/m, `npm test${suiteArguments}`),
    );
    const expected = outputAfter(block, blocks);
    // curl ends a body without a line end.
    if (expected !== undefined) expect(`${output.trimEnd()}\n`).toMatch(expected);
  }

  test.each(steps)(
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

      const before = tree;
      tree = await snapshot();
      const changes = await succeed(copy, ["git", "diff", "--no-renames", "--name-status", before, tree]);
      const [row] = rowsOf(guide, /^\| \[/).filter(([link = ""]) => link.includes(`[${step}]`));
      if (row === undefined) return;
      const [added, changed] = row.slice(1).map(Number);
      expect(changes.match(/^A/gm)?.length).toBe(added === 0 ? undefined : added);
      expect(changes.match(/^M/gm)?.length).toBe(changed);
    },
    stepMsMax,
  );
}

describeIfInstalled("git", "the steps of the guide", suite);
