// docs/guides/start-your-own-service.md: the text of the page, performed on one copy of the
// repository, and tests of the result. A failure names the step that no longer applies.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ShellSession } from "../../support/guide.ts";
import { type CodeBlock, codeBlocks, outputAfter } from "../../support/markdown.ts";
import { succeed } from "../../support/npm-packages.ts";
import { reservePort } from "../../support/ports.ts";
import { sharedPostgres } from "../../support/postgres.ts";
import { describeIfInstalled } from "../../support/programs.ts";
import { copyPackages, copyRepository } from "../../support/repository-copy.ts";
import { runIn, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const page = "docs/guides/start-your-own-service.md";
const guide = readFileSync(join(root, page), "utf8");
const blocks = codeBlocks(guide);

/** The headings with something to do, and the files that each step adds and changes by hand. */
const steps: Readonly<Record<string, readonly [added: readonly string[], changed: readonly string[]]>> = {
  "Rename it": [[], []],
  "Add fields": [[], ["src/core/contract/resource.ts"]],
  "Add an operation": [["src/sample-operations/get-book.ts"], ["src/sample-operations/index.ts"]],
  "Run it on PostgreSQL": [[], []],
};

/** What `npm run generate` writes. */
const generated = [
  "openapi.yaml",
  "packages/client/src/book-fields.ts",
  "packages/sandbox/src/control-types.ts",
  "src/sandbox/openapi-control.yaml",
];

/**
 * With PLANTSTORE_TEST_GUIDE=all, as in `npm run test:long`, all tests of the result are run;
 * otherwise those that a step is most likely to break.
 */
const isComplete = process.env.PLANTSTORE_TEST_GUIDE === "all";
const suites = [
  "unit/core/contract/",
  "unit/console/",
  "unit/project/",
  "unit/sandbox/",
  "unit/cli/banner.test.ts",
  "integration/cli/command-line.test.ts",
  "integration/cli/config.test.ts",
  "integration/client/create.test.ts",
  "integration/core/http/openapi.test.ts",
  "integration/operations/export.test.ts",
  "integration/sample-operations/",
  "integration/sandbox/forced-errors.test.ts",
];
const testArguments = isComplete ? [] : ["--", ...suites.map((suite) => `./test/${suite}`)];

const stepMsMax = 600_000;

test("the page has at most 900 words, and every block is a script, its output, a diff or a file", () => {
  expect(guide.split(/\s+/).length).toBeLessThanOrEqual(900);
  for (const { language } of blocks) expect(language).toMatch(/^(?:|sh|diff|ts src\/[\w/.-]+)$/);
  expect([...new Set(blocks.map(({ heading }) => heading))]).toEqual(Object.keys(steps));
});

function suite(): void {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  const copy = folder.file("copy");
  const port = String(reservePort());
  let shell: ShellSession;
  let database: string;
  /** The step that failed, on which all later ones depend. */
  let failed: string | undefined;
  let tree = "";

  beforeAll(async () => {
    await copyRepository(copy);
    await copyPackages(copy);
    await snapshot();
    await succeed(copy, ["git", "commit", "--quiet", "--message", "Start"]);
    const postgres = resources.use(await sharedPostgres());
    database = (await postgres.newDatabase()).address;
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
      block.text.replaceAll("8080", port).replace(/postgres:\/\/\S+/, () => database),
    );
    const expected = outputAfter(block, blocks);
    // curl ends a body without a line end.
    if (expected !== undefined) expect(`${output.trimEnd()}\n`).toMatch(expected);
  }

  test.each(Object.entries(steps))(
    "%s",
    async (step, [added, changed]) => {
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
      if (before === "") return;
      const changes = await succeed(copy, ["git", "diff", "--no-renames", "--name-status", before, tree]);
      const changedBy = (kind: string) =>
        [...changes.matchAll(new RegExp(`^${kind}\t(.+)$`, "gm"))].map(([, path = ""]) => path);
      expect(changedBy("A")).toEqual([...added]);
      expect(changedBy("M").filter((path) => !generated.includes(path))).toEqual([...changed]);
    },
    stepMsMax,
  );

  test.each([["check"], ["test", ...testArguments]])(
    "npm run %s is green",
    async (...command) => {
      if (failed !== undefined) throw new Error(`not performed, as the step "${failed}" failed`);
      // What the page shows is not in the order of imports that the linter wants.
      await succeed(copy, ["node_modules/.bin/biome", "check", "--write", "src"]);
      await succeed(copy, ["npm", "run", ...command]);
    },
    stepMsMax,
  );
}

describeIfInstalled("git", "the steps of the guide", suite);
