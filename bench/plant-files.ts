// Files with the same plants in each format that they are imported from.

import { formatCsvRecord } from "../src/transfer/csv-records.ts";
import { formats } from "../src/transfer/format.ts";

/** The paths of files with the same plants. */
export interface PlantFiles {
  readonly csv: string;
  readonly ndjson: string;
}

/** How many plants are put together for one write. */
const plantsAtATime = 10_000;

/** As in a list that grew by itself: ids ascend, and every plant has a tag, since .import would make "" of none. */
const firstId = 1_000_000_000_000n;

/** Writes so many plants to two files in a folder. */
export async function writePlantFiles(folder: string, plants: number): Promise<PlantFiles> {
  const files = { csv: `${folder}/${plants}.csv`, ndjson: `${folder}/${plants}.ndjson` };
  const csv = Bun.file(files.csv).writer();
  const ndjson = Bun.file(files.ndjson).writer();
  csv.write(formats.csv.header(","));
  for (let start = 0; start < plants; start += plantsAtATime) {
    const some = Array.from({ length: Math.min(plantsAtATime, plants - start) }, (_, index) => {
      const id = firstId + BigInt(start + index);
      return { id, name: `Monstera deliciosa ${id}`, tag: "tropical" };
    });
    csv.write(some.map(({ id, name, tag }) => `${formatCsvRecord(id, name, tag, ",")}\n`).join(""));
    ndjson.write(formats.ndjson.text(some));
    await Promise.all([csv.flush(), ndjson.flush()]);
  }
  await Promise.all([csv.end(), ndjson.end()]);
  return files;
}
