// The reader's own connections to PostgreSQL.

import { expect, test } from "bun:test";
import { parsePostgresUrl } from "../../../../../src/core/store/postgres/connection-url.ts";
import { PostgresReader } from "../../../../../src/core/store/postgres/reader.ts";
import { sharedPostgres } from "../../../../support/postgres.ts";

test("a reader that is closed while it probes hosts leaves no connection, which would keep the process", async () => {
  await using database = await sharedPostgres();
  const { name, address } = await database.newDatabase();
  const reader = new PostgresReader(parsePostgresUrl(address.replace("postgres:", "")));
  const states = reader.indexStates().then(
    () => "fulfilled",
    () => "rejected",
  );
  await reader.close();
  expect(await states).toBe("rejected");
  const connections = () =>
    database.query(
      "postgres",
      `SELECT FROM pg_stat_activity WHERE datname = '${name}' AND application_name = 'plantstore'`,
    );
  while ((await connections()).length > 0) await Bun.sleep(20);
});
