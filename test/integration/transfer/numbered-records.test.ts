// Imports of records without ids, into ids that have little room for a hash.

import { describe, expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { contractWithIds, idSchemas } from "../../support/id-contracts.ts";
import { createStore, runCommand, TemporaryFolder } from "../../support/server.ts";
import { storedCount } from "../../support/stored-plants.ts";

for (const engine of engines)
  describe(engine.name, () => {
    test.each([
      ["int32", 200_000],
      ["at most 9999", 9_999],
    ] as const)("ids that are %s: each of %d records is stored once", async (name, records) => {
      using folder = new TemporaryFolder();
      const contract = contractWithIds(idSchemas[name]);
      await using place = await engine.createTestStore(contract);
      await createStore(place.database, contract);
      const file = folder.file("things.ndjson");
      await Bun.write(file, '{"name":"equal"}\n'.repeat(records));
      const run = (...args: string[]) => runCommand(["import", file, "--database", place.database, ...args]);
      const count = records.toLocaleString("en");
      const first = await run();
      expect(first.stderr).toContain(`${count} created, 0 already stored, 0 rejected`);
      expect(await storedCount(place.database)).toBe(records);
      for (const args of name === "int32" ? [[]] : [[], ["--dry-run"], ["--update"]]) {
        const { stdout, stderr } = await run(...args);
        expect(stdout + stderr).toContain(`${count} already stored, 0 rejected`);
      }
      if (name === "int32") return;
      // Another content is a conflict, or replaces what this import created.
      await Bun.write(file, `${'{"name":"equal"}\n'.repeat(records - 1)}{"name":"other"}\n`);
      expect((await run()).stderr).toContain("1 rejected");
      expect((await run("--update")).stderr).toContain("0 created, 1 replaced");
      expect(await storedCount(place.database)).toBe(records);
      await Bun.write(file, '{"name":"equal"}\n'.repeat(100));
      const { exitCode, stderr } = await run("--key", "other file");
      expect([exitCode, stderr]).toEqual([3, expect.stringContaining("0 created")]);
    });
  });
