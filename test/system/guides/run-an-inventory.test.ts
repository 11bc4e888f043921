// docs/guides/run-an-inventory.md: its commands, in their order, on the real service and on two
// PostgreSQL servers. Only hosts and ports are others.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { ShellSession } from "../../support/guide.ts";
import { codeBlocks, outputAfter } from "../../support/markdown.ts";
import { reservePort } from "../../support/ports.ts";
import { PostgresServer } from "../../support/postgres.ts";
import { describeIfInstalled } from "../../support/programs.ts";
import { plantstore, TemporaryFolder } from "../../support/server.ts";
import { storeLines } from "../../support/stored-plants.ts";

const guide = readFileSync(new URL("../../../docs/guides/run-an-inventory.md", import.meta.url), "utf8");
const blocks = codeBlocks(guide);
const scripts = blocks.filter(({ language }) => language === "sh");

/** The headings with commands. */
const sections = [...new Set(scripts.map(({ heading }) => heading))];

test("every block is a script or the output of one, and every section from the installation on has a script", () => {
  expect(blocks.filter(({ language }) => !["sh", ""].includes(language))).toEqual([]);
  expect(scripts.filter((script) => outputAfter(script, blocks)).length).toBe(blocks.length - scripts.length);
  const headings = [...guide.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  const withoutCommands = ["Choose an engine", "Size it", "Watch the capacity"];
  expect(headings.filter((title) => !withoutCommands.includes(title ?? ""))).toEqual(sections);
});

test.each(["the new store cannot be reached", "the new store has another plant"])(
  "the settings stay as they are if %s",
  async (fault) => {
    using folder = new TemporaryFolder();
    const script = scripts.find(({ text }) => text.includes("cmp - plants.ndjson"))?.text ?? "";
    expect(script).toContain("sed -i");
    const settings = "PLANTSTORE_DATABASE=sqlite:plants.db\n";
    writeFileSync(folder.file("plantstore.env"), settings);
    const [old, other] = [folder.file("plants.db"), folder.file("new.db")].map((file) => `sqlite:${file}`);
    await storeLines(old ?? "", ['{"id":1,"name":"Ficus"}']);
    await storeLines(other ?? "", ['{"id":2,"name":"Ficus"}']);
    const unreachable = `postgres://plantstore@127.0.0.1:${reservePort()}/plants?retry_timeout=1`;
    const address = fault.includes("reached") ? unreachable : (other ?? "");
    const env = {
      PATH: `${dirname(plantstore)}:${process.env.PATH}`,
      HOME: folder.path,
      PLANTSTORE_CONFIG: folder.file("plantstore.env"),
    };
    const moving = script.replaceAll("postgres://plantstore@db1/plants", `'${address}'`);
    // A reader's shell goes on after a command that fails.
    const child = Bun.spawn(["sh", "-c", `sleep 100 & server=$!\n${moving}`], {
      cwd: folder.path,
      env,
      stdout: "ignore",
      stderr: "ignore",
    });
    await child.exited;
    expect(readFileSync(folder.file("plantstore.env"), "utf8")).toBe(settings);
  },
);

function suite(): void {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  let shell: ShellSession;
  let replace: (text: string) => string;

  beforeAll(async () => {
    const primary = resources.use(await PostgresServer.start());
    const standby = resources.use(await PostgresServer.standbyOf(primary, "db2"));
    const replacements: [string | RegExp, string][] = [
      [/(?<=@|,)db1\b/g, `127.0.0.1:${primary.port}`],
      [/(?<=@|,)db2\b/g, `127.0.0.1:${standby.port}`],
      ...["8080", "8081", "8082", "8083"].map((port): [string, string] => [port, String(reservePort())]),
    ];
    replace = (text) => replacements.reduce((all, [from, to]) => all.replaceAll(from, to), text);
    const [row] = await primary.query("postgres", "SHOW data_directory");
    const env = {
      PATH: `${dirname(plantstore)}:${process.env.PATH}`,
      HOME: folder.path,
      PGDATA: String(row?.data_directory),
    };
    shell = resources.use(new ShellSession(folder.path, env));
  });
  afterAll(() => resources.disposeAsync());

  test.each(sections)("%s", async (section) => {
    for (const script of scripts.filter(({ heading }) => heading === section)) {
      const output = await shell.run(replace(script.text));
      const expected = outputAfter(script, blocks);
      if (expected !== undefined) expect(output).toMatch(expected);
    }
  });

  test("what is exported at the end is what was created, corrected and taken in, and nothing else", async () => {
    const plants = readFileSync(folder.file("last-plants.ndjson"), "utf8").trimEnd().split("\n");
    expect(plants).toEqual([
      '{"id":2,"name":"Pilea"}',
      '{"id":10,"name":"Aloe vera","tag":"succulent"}',
      '{"id":9007199254740993,"name":"Monstera deliciosa","tag":"indoor"}',
    ]);
  });
}

describeIfInstalled("psql", "the commands of the guide", suite);
