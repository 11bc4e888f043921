// docs/guides/start-your-own-service.md and the programs of docs/operations.md: the text of the pages,
// performed in empty folders with the packed package, with npm and Node, and with Bun. A failure names
// the step that no longer applies.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { contractFile } from "../../support/contract-sandbox.ts";
import { performBlock, runtimes, ShellSession } from "../../support/guide.ts";
import { hotelProgram } from "../../support/hotel.ts";
import { type CodeBlock, codeBlocks, outputAfter } from "../../support/markdown.ts";
import { checkTypes, generateTypes, npmEnvironment, packServer } from "../../support/npm-packages.ts";
import { reservePort } from "../../support/ports.ts";
import { sharedPostgres } from "../../support/postgres.ts";
import { describeIfInstalled } from "../../support/programs.ts";
import { runIn, TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const root = new URL("../../..", import.meta.url).pathname;
const page = "docs/guides/start-your-own-service.md";
const guide = readFileSync(join(root, page), "utf8");
const blocks = codeBlocks(guide);
const headings = [...new Set(blocks.map(({ heading }) => heading))];
const programs = codeBlocks(readFileSync(join(root, "docs/operations.md"), "utf8"));
const textOf = (file: string) => programs.find(({ language }) => language === `ts ${file}`)?.text ?? "";

const stepMsMax = 300_000;

test("the page has at most 700 words, and its own operation with its test at most 45 lines", () => {
  expect(guide.trim().split(/\s+/).length).toBeLessThanOrEqual(700);
  const files = blocks.filter(({ language }) => /^(?:ts|js) /.test(language));
  expect(files.flatMap(({ text }) => text.trimEnd().split("\n")).length).toBeLessThanOrEqual(45);
});

describeIfInstalled("curl", "the steps of the guide", () => {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  const types = resources.use(new TemporaryFolder());
  let postgres: Awaited<ReturnType<typeof sharedPostgres>>;

  beforeAll(async () => {
    copyFileSync(await packServer(folder), folder.file("plantstore-0.1.0.tgz"));
    postgres = resources.use(await sharedPostgres());
  }, stepMsMax);
  afterAll(() => resources.disposeAsync());

  describe.each(runtimes)("with %s", (name, replacements) => {
    const project = folder.file(name.replaceAll(" ", "-"));
    const [port, adminPort] = [String(reservePort()), String(reservePort())];
    let shell: ShellSession;
    let database: string;
    /** The step that failed, on which all later ones depend. */
    let failed: string | undefined;

    beforeAll(async () => {
      database = (await postgres.newDatabase()).address;
      mkdirSync(project);
      const { PATH = "", HOME = folder.path } = process.env;
      shell = resources.use(
        new ShellSession(project, {
          PATH: `${join(root, "node_modules/.bin")}:${PATH}`,
          HOME,
          ...npmEnvironment,
          PLANTSTORE_PORT: port,
          PLANTSTORE_ADMIN_PORT: adminPort,
        }),
      );
    });

    async function perform(block: CodeBlock): Promise<void> {
      const own = block.text.replaceAll("8080", port).replace(/postgres:\/\/\S+/, () => database);
      const output = await performBlock({ ...block, text: own }, project, shell, replacements);
      const expected = outputAfter(block, blocks);
      // curl ends a body without a line end.
      if (expected !== undefined) expect(`${output?.trimEnd()}\n`).toMatch(expected);
    }

    async function performStep(step: string): Promise<void> {
      if (failed !== undefined) throw new Error(`not performed, as the step "${failed}" failed`);
      try {
        for (const block of blocks.filter(({ heading }) => heading === step)) await perform(block);
      } catch (error) {
        failed = step;
        throw new Error(`${page}, step "${step}": ${error instanceof Error ? error.message : error}`, {
          cause: error,
        });
      }
    }

    test.each(headings)("%s", performStep, stepMsMax);

    test("its own test passes a second time", () => performStep("Test it"), stepMsMax);

    test("the program that starts the service itself ends by itself", async () => {
      writeFileSync(join(project, "service.ts"), textOf("service.ts"));
      const bun = join(project, "node_modules/.bin/bun");
      expect(await runIn(project, [bun, "service.ts"])).toMatchObject({ exitCode: 0, stdout: "401\n" });
    });

    test.each([
      ["bundler", "preserve"],
      ["nodenext", "nodenext"],
    ])("its files have types with module resolution %s", async (moduleResolution, module) => {
      writeFileSync(join(project, "service.ts"), textOf("service.ts"));
      // The settings of `bun init`.
      const settings = {
        ...{ target: "esnext", lib: ["esnext"], moduleDetection: "force", allowImportingTsExtensions: true },
        ...{ noUncheckedIndexedAccess: true, noImplicitOverride: true, noFallthroughCasesInSwitch: true },
        ...{ types: ["bun"], typeRoots: [join(root, "node_modules/@types")] },
      };
      writeFileSync(join(project, "package.json"), '{ "type": "module" }');
      await checkTypes(project, ["operations.ts", "service.ts"], { ...settings, module, moduleResolution });
      // Those of the package need none of Bun, nor of Node.js.
      const alone = { lib: ["esnext", "dom"], types: [], skipLibCheck: false };
      await checkTypes(project, ["operations.ts"], { ...settings, ...alone, module, moduleResolution });
      writeFileSync(join(project, "hotel.ts"), await generateTypes(contractFile("hotel.yaml"), types));
      writeFileSync(join(project, "hotel-operations.ts"), hotelProgram);
      await checkTypes(project, ["hotel-operations.ts"], { ...settings, module, moduleResolution });
      // They are types, not any.
      writeFileSync(join(project, "wrong.ts"), 'import { text } from "plantstore"; text(1);');
      const checking = checkTypes(project, ["wrong.ts"], { ...settings, module, moduleResolution });
      expect(await settled(checking)).toThrow("'number' is not assignable to parameter of type 'string'");
    });
  });
});
