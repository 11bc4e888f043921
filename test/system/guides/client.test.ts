// docs/client.md: the text of the page, performed in an empty folder with the packed client, npm and
// Node. The commands for Go are in test/system/tools.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ShellSession } from "../../support/guide.ts";
import { codeBlocks, outputAfter } from "../../support/markdown.ts";
import { npmEnvironment, npxMissing, packClient } from "../../support/npm-packages.ts";
import { reservePort } from "../../support/ports.ts";
import { describeUnless, pathOf } from "../../support/programs.ts";
import { TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const guide = readFileSync(join(root, "docs/client.md"), "utf8");
const blocks = codeBlocks(guide).filter(({ heading }) => heading !== "Go");
const stepMsMax = 300_000;

const missing = pathOf("curl") === null ? "install curl" : await npxMissing("openapi-typescript@7.13.0");

describeUnless(missing, "the steps of the page", () => {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  const project = folder.file("project");
  const port = String(reservePort());
  let shell: ShellSession;

  beforeAll(async () => {
    const tarball = await packClient(folder);
    copyFileSync(tarball, folder.file(basename(tarball)));
    mkdirSync(project);
    const { PATH = "", HOME = folder.path } = process.env;
    const ports = { PLANTSTORE_PORT: port, PLANTSTORE_ADMIN_PORT: String(reservePort()) };
    const environment = { PATH: `${join(root, "bin")}:${PATH}`, HOME, ...npmEnvironment, ...ports };
    shell = resources.use(new ShellSession(project, environment));
  }, stepMsMax);
  afterAll(() => resources.disposeAsync());

  test.each([...new Set(blocks.map(({ heading }) => heading))])(
    "%s",
    async (step) => {
      for (const block of blocks.filter(({ heading }) => heading === step)) {
        const [language, path] = block.language.split(" ");
        const text = block.text.replaceAll("8080", port);
        if (path !== undefined) writeFileSync(join(project, path), text);
        if (language !== "sh") continue;
        expect(await shell.run(text)).toMatch(outputAfter(block, blocks) ?? /^$/);
      }
    },
    stepMsMax,
  );
});
