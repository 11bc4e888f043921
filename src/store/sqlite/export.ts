// Plants out in masses, and their number.

import type { NewPlant } from "../../contract/plant.ts";
import type { ExportFilter } from "../plant-store.ts";
import type { Database } from "./driver.ts";
import { type PlantRow, plantFrom } from "./plants.ts";

/** Of 100 to 10,000 plants at a time all cost the same. */
const rowsMax = 1_000;

/** Names and tags that are held at a time, in UTF-16 code units: what bounds the memory where plants are large. */
const unitsMax = 2 ** 20;

/** The plants of a selection by id. One statement is one snapshot, however long it takes. */
export function* exportPlants(database: Database, selection: ExportFilter): Generator<NewPlant[]> {
  const { where, values } = conditions(selection);
  const all = database.prepare<PlantRow, (bigint | string)[]>(
    `SELECT id, name, tag FROM plants ${where} ORDER BY id`,
  );
  try {
    let plants: NewPlant[] = [];
    let units = 0;
    for (const row of all.iterate(...values)) {
      plants.push(plantFrom(row));
      units += row.name.length + (row.tag?.length ?? 0);
      if (plants.length < rowsMax && units < unitsMax) continue;
      yield plants;
      plants = [];
      units = 0;
    }
    if (plants.length > 0) yield plants;
  } finally {
    all.finalize();
  }
}

/** How many plants a selection has. */
export function countPlants(database: Database, selection: ExportFilter): number {
  const { where, values } = conditions(selection);
  return Number(database.query(`SELECT count(*) FROM plants ${where}`).values(...values)[0]?.[0]);
}

function conditions({ tag, sinceId }: ExportFilter): { where: string; values: (bigint | string)[] } {
  const all = [...(sinceId === undefined ? [] : ["id > ?"]), ...(tag === undefined ? [] : ["tag = ?"])];
  const values = [sinceId, tag].filter((value) => value !== undefined);
  return { where: all.length === 0 ? "" : `WHERE ${all.join(" AND ")}`, values };
}
