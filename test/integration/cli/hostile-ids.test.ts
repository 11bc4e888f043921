// Commands on plants whose ids are texts that clients chose, on every engine.

import { expect, test } from "bun:test";
import { thingsDocument } from "../../support/descriptions.ts";
import { engines } from "../../support/engines.ts";
import { runCommand, TemporaryFolder } from "../../support/server.ts";

const red = "\u001b[31mred";
const shown = "\\u001b[31mred";

for (const engine of engines)
  test(`${engine.name}: ids move no cursor, each is deleted once, and a description has none`, async () => {
    using folder = new TemporaryFolder();
    const properties = { id: { type: "string" }, name: { type: "string" } };
    const source = {
      text: JSON.stringify(thingsDocument({ body: { type: "object", required: ["id"], properties } })),
    };
    await using place = await engine.createTestStore(source);
    const run = (...args: string[]) => runCommand([...args, "--database", place.database]);
    await Bun.write(folder.file("things.json"), source.text);
    await run("migrate", "--contract", folder.file("things.json"));
    const lines = [red, "5", "6"].map((id) => `${JSON.stringify({ id, name: "n" })}\n`);
    await Bun.write(folder.file("a.ndjson"), lines.join(""));
    await run("import", folder.file("a.ndjson"));

    const deleted = await run("delete", "5", "5");
    expect(deleted).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(
        /^thing 5: deleted \{"name":"n"\}\n"plantstore history --undo \w+ --database [^"]+" undoes this\.\n$/,
      ),
    });
    expect((await run("history")).stdout).toContain('deleted {"name":"n"}\n');
    const changed = await run("delete", red, `${red}2`);
    expect(changed.stderr).toContain(`thing ${shown}: deleted {"name":"n"}\n`);
    expect(changed.stderr).toContain(`there is no thing with the id ${shown}2 in this store\n`);
    const [, runId] = /--undo (\w+)/.exec(changed.stderr) ?? [];
    await run("import", folder.file("a.ndjson"));
    const changedSince = await run("update", red, "--name", "other");
    expect(changedSince.stderr).toContain(`thing ${shown}: name "n" → "other"\n`);
    const undone = await run("history", "--undo", String(runId));
    expect([undone.exitCode, undone.stderr]).toEqual([3, expect.stringContaining(`Left: ${shown}.\n`)]);
    for (const { stderr } of [changed, changedSince, undone]) expect(stderr).not.toContain("\u001b");
  });
