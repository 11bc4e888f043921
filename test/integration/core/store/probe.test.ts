// The probe by which a server finds out whether a store can be written.

import { expect, test } from "bun:test";
import { toEntries } from "../../../../src/core/store/plant-store.ts";
import { engines } from "../../../support/engines.ts";
import { withStore } from "../../../support/server.ts";
import { openedStore } from "../../../support/stored-plants.ts";

/** A trigger by which the store refuses every plant. */
const triggers: Readonly<Record<string, { readonly create: readonly string[]; readonly drop: string }>> = {
  sqlite: {
    create: ["CREATE TRIGGER refuse BEFORE INSERT ON plants BEGIN SELECT RAISE(ABORT, 'refused'); END"],
    drop: "DROP TRIGGER refuse",
  },
  postgres: {
    create: [
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''refused''; END'",
      "CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()",
    ],
    drop: "DROP TRIGGER refuse ON plants",
  },
};

for (const engine of engines) {
  const trigger = triggers[engine.engine];
  test.skipIf(trigger === undefined)(
    `${engine.name}: a probe writes what a create writes, and leaves no plant`,
    async () => {
      await using place = await engine.createTestStore();
      await using store = await openedStore(place.database, () => undefined);
      await using sql = await store.openSql("write");
      await store.assertWritable();
      await sql.transaction((trigger?.create ?? []).map((statement) => ({ sql: statement })));
      expect(await store.create(toEntries([{ id: 1n, name: "Monstera" }]))).toEqual(["unavailable"]);
      // With `rejects` Bun waits in an event loop within the one that delivers the thread's report of
      // the refused batch. On a busy machine the response then never came, 1 time in 60.
      expect(await store.assertWritable().catch(String)).toContain("refused");
      await sql.query(trigger?.drop ?? "");
      await store.assertWritable();
      expect(await withStore(place.database, "existing", (opened) => opened.count({}))).toBe(0);
    },
  );
}
