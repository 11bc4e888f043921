// Files of plants to import, in NDJSON and CSV.

import { existsSync } from "node:fs";

export interface GeneratedPlant {
  readonly id: number;
  readonly name: string;
  readonly tag: string;
}

type Format = "ndjson" | "csv";

/** No value needs quotes or escapes. */
const lines: Readonly<Record<Format, (plant: GeneratedPlant) => string>> = {
  ndjson: ({ id, name, tag }) => `{"id":${id},"name":"${name}","tag":"${tag}"}\n`,
  csv: ({ id, name, tag }) => `${id},${name},${tag}\n`,
};

const plantsPerWrite = 10_000;

/** Writes this number of plants to a file, unless it exists, and returns its path. */
export async function writePlantFile(
  folder: string,
  format: Format,
  plants: number,
  plantAt: (index: number) => GeneratedPlant,
): Promise<string> {
  const path = `${folder}/${plants}.${format}`;
  if (existsSync(path)) return path;
  const writer = Bun.file(path).writer();
  if (format === "csv") writer.write("id,name,tag\n");
  for (let start = 0; start < plants; start += plantsPerWrite) {
    const length = Math.min(plantsPerWrite, plants - start);
    writer.write(Array.from({ length }, (_, index) => lines[format](plantAt(start + index))).join(""));
    await writer.flush();
  }
  await writer.end();
  return path;
}
