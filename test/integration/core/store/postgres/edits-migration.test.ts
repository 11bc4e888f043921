// The table of the history in a PostgreSQL store of schema version 4: its privileges, and its place
// in a cluster of Citus. Citus itself does not run here: its catalogs and its function are
// imitated.

import { expect, test } from "bun:test";
import { imitatedCatalogs } from "../../../../support/citus.ts";
import { sharedPostgres } from "../../../../support/postgres.ts";
import { run } from "../../../../support/server.ts";

const version4 = Bun.file(
  new URL("../../../../system/restart/stores/postgres-4.sql", import.meta.url).pathname,
);

async function migrate(address: string): Promise<void> {
  expect(await run(["migrate", "--database", address])).toMatchObject({ exitCode: 0 });
}

test("who may read plants may read their history, and who may edit them may record it", async () => {
  await using server = await sharedPostgres();
  const { name, address } = await server.newDatabase();
  await server.query(name, await version4.text());
  const roles = ["reads", "creates", "edits", "deletes"].map((role) => `${role}_${name}`);
  const [reads, creates, edits, deletes] = roles;
  await server.query(name, roles.map((role) => `CREATE ROLE ${role}`).join(";"));
  await server.query(
    name,
    `GRANT SELECT ON plants TO ${reads}; GRANT SELECT, INSERT ON plants TO ${creates};
     GRANT SELECT, INSERT, UPDATE ON plants TO ${edits}; GRANT DELETE ON plants TO ${deletes}`,
  );
  await migrate(address);
  const mayDo = async (role: string | undefined) => {
    const [row] = await server.query(
      name,
      `SELECT ${["SELECT", "INSERT", "DELETE", "UPDATE"].map((privilege) => `has_table_privilege('${role}', 'edits', '${privilege}')`).map((sql, index) => `${sql} AS p${index}`)}`,
    );
    return Object.values(row ?? {});
  };
  expect(await mayDo(reads)).toEqual([true, false, false, false]);
  expect(await mayDo(creates)).toEqual([true, false, false, false]);
  expect(await mayDo(edits)).toEqual([true, true, true, false]);
  expect(await mayDo(deletes)).toEqual([true, true, true, false]);
});

test.each([
  ["by id", "h", [{ call: "edits plant_id plants" }]],
  ["not at all", undefined, []],
])("with plants distributed %s on Citus the history is kept beside them", async (_, method, calls) => {
  await using server = await sharedPostgres();
  const { name, address } = await server.newDatabase();
  await server.query(name, await version4.text());
  const plants =
    method === undefined ? "" : "INSERT INTO pg_dist_partition VALUES ('plants', 'h', 'id', 's', 1)";
  await server.query(
    name,
    `${imitatedCatalogs(0)};
     ${plants};
     CREATE TABLE calls (call text);
     CREATE FUNCTION create_distributed_table(text, text, colocate_with text) RETURNS void LANGUAGE sql AS
       'INSERT INTO calls VALUES ($1 || '' '' || $2 || '' '' || colocate_with)'`,
  );
  await migrate(address);
  expect(await server.query(name, "SELECT call FROM calls")).toEqual(calls);
});
