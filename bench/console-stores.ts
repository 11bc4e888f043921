// Stores with many plants, filled by the engine itself: neither ids nor names in the order of their making.

import { Client } from "pg";
import { openDatabase } from "../src/store/sqlite/connection.ts";

/** Spreads numbers over the ids below 10^12, where the plants of a load begin; without repetition up to 10^8. */
const spread = 9_973;

const names = [
  "Monstera deliciosa",
  "Ficus elastica",
  "Calathea orbifolia",
  "Pilea peperomioides",
  "Hoya carnosa",
];

/** How many tags there are: each has a thousandth of the plants. */
export const tags = 1_000;

export function fillSqlite(file: string, plants: number): void {
  const database = openDatabase(file, "existing");
  try {
    const name = names.map((one, index) => `WHEN ${index} THEN '${one} '`).join(" ");
    database.run(
      `WITH RECURSIVE numbers (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM numbers WHERE i < ${plants})
       INSERT INTO plants SELECT i * ${spread}, CASE i % ${names.length} ${name} END || (i * 7919 % ${plants}), 'tag ' || (i % ${tags})
       FROM numbers`,
    );
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
}

export async function fillPostgres(database: string, plants: number): Promise<void> {
  const client = new Client({ connectionString: database });
  await client.connect();
  try {
    const name = names.map((one, index) => `WHEN ${index} THEN '${one} '`).join(" ");
    await client.query(
      `INSERT INTO plants SELECT i * ${spread}, CASE i % ${names.length} ${name} END || (i * 7919 % ${plants}), 'tag ' || (i % ${tags})
       FROM generate_series(1::bigint, ${plants}) AS numbers (i)`,
    );
    await client.query("VACUUM ANALYZE plants");
  } finally {
    await client.end();
  }
}
