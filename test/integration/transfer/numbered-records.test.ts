// Imports of records without ids, into ids that have little room for a hash.

import { describe, expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { contractWithIds } from "../../support/id-contracts.ts";
import { createStore, runCommand, TemporaryFolder } from "../../support/server.ts";
import { storedCount } from "../../support/stored-plants.ts";

for (const engine of engines)
  describe(engine.name, () => {
    test.each([
      // More than a batch of an import, and ids that collide.
      [99_999, 24_000],
      [9_999, 9_999],
    ])("ids that are at most %d: each of %d records is stored once", async (maximum, records) => {
      using folder = new TemporaryFolder();
      const contract = contractWithIds({ type: "integer", maximum });
      await using place = await engine.createTestStore(contract);
      await createStore(place.database, contract);
      const file = folder.file("things.ndjson");
      await Bun.write(file, '{"name":"equal"}\n'.repeat(records));
      const run = (...args: string[]) => runCommand(["import", file, "--database", place.database, ...args]);
      const count = records.toLocaleString("en");
      const first = await run();
      expect(first.stderr).toContain(`${count} created, 0 already stored, 0 rejected`);
      expect(await storedCount(place.database)).toBe(records);
      for (const args of maximum > records ? [[]] : [[], ["--dry-run"], ["--update"]]) {
        const { stdout, stderr } = await run(...args);
        expect(stdout + stderr).toContain(`${count} already stored, 0 rejected`);
      }
      if (maximum > records) return;
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
