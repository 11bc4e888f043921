// plantstore export on every engine: selections, output and failures.

import { describe, expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { plantJson, post } from "../../support/http.ts";
import { TerminalProgram } from "../../support/output.ts";
import { plantstore, RunningServer, runCommand } from "../../support/server.ts";
import { StoreFolder } from "../../support/store-folder.ts";
import { csvLine, storeLines } from "../../support/stored-plants.ts";

for (const engine of engines) {
  describe(engine.name, () => {
    test("--tag selects by exact tag, --since-id by greater id", async () => {
      await using place = await engine.createTestStore();
      const lines = [
        plantJson(-(2n ** 63n), "first", "it's"),
        plantJson(-7n, "none"),
        plantJson(1n, "empty", ""),
        plantJson(2n, "tropical", "tropical"),
        plantJson(3n, "case", "Tropical"),
        plantJson(4n, "backslash", "\\'; --"),
        plantJson(2n ** 63n - 1n, "last", "tropical"),
      ];
      await storeLines(place.database, lines.toReversed());
      const selected = async (...args: string[]) =>
        (await runCommand(["export", "--database", place.database, ...args])).stdout
          .replace(/\n$/, "")
          .split("\n");
      expect(await selected()).toEqual(lines);
      expect(await selected("--tag", "tropical")).toEqual([lines[3] ?? "", lines[6] ?? ""]);
      expect(await selected("--tag", "")).toEqual([lines[2] ?? ""]);
      expect(await selected("--tag", "it's")).toEqual([lines[0] ?? ""]);
      expect(await selected("--tag", "\\'; --")).toEqual([lines[5] ?? ""]);
      expect(await selected("--tag", "none")).toEqual([""]);
      expect(await selected("--since-id", "2")).toEqual(lines.slice(4));
      expect(await selected("--since-id", "-7", "--tag", "tropical")).toEqual([
        lines[3] ?? "",
        lines[6] ?? "",
      ]);
      expect(await selected("--since-id", "9223372036854775807")).toEqual([""]);
      expect(await selected("--format", "csv", "--since-id=-8")).toEqual([
        csvLine(["id", "name", "tag"]),
        csvLine(["-7", "none", ""]),
        csvLine(["1", "empty", '""']),
        csvLine(["2", "tropical", "tropical"]),
        csvLine(["3", "case", "Tropical"]),
        csvLine(["4", "backslash", "\\'; --"]),
        csvLine(["9223372036854775807", "last", "tropical"]),
      ]);
    });

    test("an export has every plant that was stored when it began, whatever is created, and waits for a slow reader", async () => {
      await using place = await engine.createTestStore();
      const name = "x".repeat(2_000);
      const lines = Array.from({ length: 3_000 }, (_, index) => plantJson(BigInt(2 * index), name));
      await storeLines(place.database, lines);
      await using server = await RunningServer.startInProcess(place);
      const target = await server.target();

      const child = Bun.spawn([plantstore, "export", "--database", place.database], { stdout: "pipe" });
      const reader = child.stdout.getReader();
      const first = await reader.read();
      // The pipe is full now, and the export is blocked in the middle of its 6 MB.
      const odd = Array.from({ length: 200 }, (_, index) => plantJson(BigInt(30 * index + 1), "odd"));
      const answers = await Promise.all(odd.map((body) => post(target, body)));
      expect(answers.every(({ status }) => status === 200)).toBe(true);

      const decoder = new TextDecoder();
      let received = decoder.decode(first.value, { stream: true });
      for (let read = await reader.read(); !read.done; read = await reader.read())
        received += decoder.decode(read.value, { stream: true });
      const exportedLines = received.trimEnd().split("\n");
      expect(exportedLines.filter((line) => !odd.includes(line))).toEqual(lines);
      // The last of them is behind the place where the export was blocked.
      expect(exportedLines).toContain(odd.at(-1) ?? "");
    });

    test("an export right after an edit of all plants has what they became, while a server runs", async () => {
      const name = "x".repeat(2_000);
      const lines = (tag: string) =>
        Array.from({ length: 1_000 }, (_, index) => plantJson(BigInt(index), name, tag));
      await using store = await StoreFolder.create(lines("before"), engine);
      await using _ = await RunningServer.startInProcess(store);
      const file = store.write("after.ndjson", lines("after").join("\n"));
      const edit = await store.run("import", "--update", file);
      expect(edit.stderr).toContain("1,000 replaced");
      const { stdout } = await store.run("export");
      expect(stdout.trimEnd().split("\n")).toEqual(lines("after"));
    });
  });
}

test("a terminal gets control characters escaped, a pipe the exact text", async () => {
  await using store = await StoreFolder.create([plantJson(1n, "a\u009b31m\u202eb\x1b[2J")]);
  for (const [args, escaped] of [
    [["get", "1"], '"a\\u009b31m\\u202eb\\u001b[2J"'],
    [["export"], '"a\\u009b31m\\u202eb\\u001b[2J"'],
    [["export", "--format", "csv"], "1,a\\u009b31m\\u202eb\\u001b[2J,"],
  ] as const) {
    const program = new TerminalProgram([plantstore, ...args, "--database", store.database]);
    expect(await program.exited).toBe(0);
    const shown = await program.output.until((text) => (text.includes("\n") ? text : undefined));
    expect(shown).toContain(escaped);
    for (const character of ["\x1b", "\x9b", "\u202e"]) expect(shown).not.toContain(character);
    expect((await store.run(...args)).stdout).toContain("\u009b31m\u202eb");
  }
});
