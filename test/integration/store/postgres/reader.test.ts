// The console's own connections to PostgreSQL.

import { expect, test } from "bun:test";
import { parsePostgresUrl } from "../../../../src/store/postgres/connection-url.ts";
import { PostgresReader } from "../../../../src/store/postgres/reader.ts";
import { sharedPostgres } from "../../../support/postgres.ts";

test("a reader that is closed while it looks for its host leaves no connection, which would keep the process", async () => {
  await using database = await sharedPostgres();
  const { name, address } = await database.newDatabase();
  const reader = new PostgresReader(parsePostgresUrl(address.replace("postgres:", "")));
  const states = reader.indexStates().then(
    () => "answered",
    () => "refused",
  );
  await reader.close();
  expect(await states).toBe("refused");
  const connections = () =>
    database.query(
      "postgres",
      `SELECT FROM pg_stat_activity WHERE datname = '${name}' AND application_name = 'plantstore'`,
    );
  while ((await connections()).length > 0) await Bun.sleep(20);
});
