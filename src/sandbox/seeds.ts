// Loads the seeds of a sandbox, the plants that it starts with and that a reset brings back, from
// files of CSV or JSON, or from the examples of the contract.

import { statSync } from "node:fs";
import { ApiError } from "../base/errors.ts";
import { OperatorError } from "../base/operator-error.ts";
import type { Collection, Plant } from "../contract/contract.ts";
import { conflictError } from "../contract/plant.ts";
import { type PlantStore, toEntries } from "../store/plant-store.ts";
import { fileNameOf, findFiles } from "../transfer/collection-files.ts";
import { formatOfName, openContent } from "../transfer/content.ts";
import { readRecords } from "../transfer/file-format.ts";
import type { ImportRecord } from "../transfer/record-reader.ts";
import { openSource } from "../transfer/source.ts";
import { exampleSeeds } from "./example-seeds.ts";

/** Larger records are rejected; a plant of the interface is smaller by default. */
const recordBytesMax = 64 * 2 ** 20;

type SeededStore = Pick<PlantStore, "create" | "contract">;

/**
 * Creates the plants of the contract's examples for `examples`, of standard input for `-`, of a file,
 * or of a folder with a file for each collection. Resolves with a sentence for each example that is no
 * plant. Rejects with an OperatorError that names the first invalid line of a file.
 */
export async function loadSeeds(seeds: string, store: SeededStore): Promise<readonly string[]> {
  const { contract } = store;
  const { collections } = contract;
  if (seeds === "examples") {
    const notes: string[] = [];
    for (const collection of collections) {
      const examples = exampleSeeds(contract, collection);
      await store.create(toEntries(collection, examples.plants));
      notes.push(...examples.notes);
    }
    return notes;
  }
  for (const { collection, file } of seedFiles(seeds, collections)) await loadFile(collection, file, store);
  return [];
}

/** The files of seeds, each with its collection. Throws an OperatorError if it is not clear. */
function seedFiles(
  path: string,
  collections: readonly Collection[],
): { readonly collection: Collection; readonly file: string }[] {
  const example = `${collections.map(fileNameOf)[0]}.ndjson`;
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    const [only, ...others] = collections;
    if (only !== undefined && others.length === 0) return [{ collection: only, file: path }];
    throw new OperatorError(
      only === undefined
        ? `--seed ${path}: the contract has no collection`
        : `--seed ${path}: the contract has several collections; name a folder with a file for each, such as ${example}`,
      2,
    );
  }
  const { files, others } = findFiles(collections, path, "--seed");
  if (others[0] !== undefined)
    throw new OperatorError(
      `--seed ${path}: ${others[0]} does not have the name of a collection, such as ${example}`,
      2,
    );
  return files;
}

async function loadFile(collection: Collection, file: string, store: SeededStore): Promise<void> {
  using source = openSource(file, new AbortController().signal);
  const { format, chunks } = await openContent(source.chunks, { name: file, named: formatOfName(file) });
  for await (const records of readRecords(collection, format, chunks, { recordBytesMax })) {
    const plants: Plant[] = records.map(({ plant, ...place }) => {
      if (plant instanceof ApiError) throw invalidSeed(file, place, plant.message);
      return plant;
    });
    const outcomes = await store.create(toEntries(collection, plants));
    for (const [index, plant] of plants.entries()) {
      const place = records[index] as ImportRecord;
      if (outcomes[index] === "conflict")
        throw invalidSeed(file, place, conflictError(collection, plant).message);
      if (outcomes[index] === "unavailable")
        throw invalidSeed(file, place, "the store in memory is full; use fewer seeds");
    }
  }
}

type RecordPlace = Pick<ImportRecord, "line" | "column">;

function invalidSeed(file: string, { line, column }: RecordPlace, message: string): OperatorError {
  const place = column === undefined ? "" : `, column ${column}`;
  return new OperatorError(`${file}, line ${line}${place}: ${message}`);
}
