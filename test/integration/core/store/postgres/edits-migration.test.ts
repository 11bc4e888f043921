// The privileges on the table of the history that a PostgreSQL store of schema version 4 gets.

import { expect, test } from "bun:test";
import { sharedPostgres } from "../../../../support/postgres.ts";
import { run } from "../../../../support/server.ts";

const version4 = Bun.file(
  new URL("../../../../system/restart/stores/postgres-4.sql", import.meta.url).pathname,
);

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
  expect(await run(["migrate", "--database", address])).toMatchObject({ exitCode: 0 });
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
