// Control of the plants: reading them back, and named snapshots of all of them.

import { AdminError } from "../core/admin/request-bodies.ts";
import { countCodeUnits, groupField } from "../core/contract/fields.ts";
import { parseInt64 } from "../core/contract/int64.ts";
import type { NewPlant } from "../core/contract/plant.ts";
import { readPlants, type StoredPlant } from "../operations/stored-plants.ts";
import { parseNumber, respondControl, respondDone, type SandboxPart } from "./control.ts";
import type { MemoryStore, PlantsCopy } from "./memory-store.ts";

/** Plants of one response. */
const plantsMax = 1_000;

/** UTF-16 code units of plants, from which on a response has no more plants. */
const codeUnitsMax = 4 * 2 ** 20;

const snapshotsMax = 100;
const snapshotBytesMax = 256 * 2 ** 20;

interface Snapshot {
  readonly plants: number;
  readonly createdAt: string;
  readonly copy: PlantsCopy;
}

/** @param onReplaced called after a snapshot was restored. */
export function plantsPart(store: MemoryStore, onReplaced: () => void): SandboxPart {
  const snapshots = new Map<string, Snapshot>();

  async function list(query: URLSearchParams): Promise<Response> {
    const after = query.get("after");
    const limit = parseNumber(query, "limit", { least: 1, default: plantsMax });
    const selection = {
      sinceId: after === null ? undefined : parseId(after, "after"),
      group: groupField === undefined ? undefined : (query.get(groupField) ?? undefined),
    };
    const pages = readPlants(await store.openSql("read"), selection);
    return respondControl(await readPage(pages, Math.min(limit, plantsMax)));
  }

  function get(id: bigint): Response {
    const plant = store.get(id);
    if (plant === undefined) throw new AdminError(404, `There is no plant with the id ${id}.`);
    return respondControl(plant);
  }

  function take(name: string): Response {
    if (!/^[\w.~-]{1,64}$/.test(name))
      throw new AdminError(
        400,
        "The name of a snapshot is 1 to 64 letters, digits and the characters . _ ~ -",
      );
    const copy = store.copyPlants();
    const others = [...snapshots].filter(([other]) => other !== name);
    const bytes = others.reduce((sum, [, other]) => sum + other.copy.length, copy.length);
    if (others.length >= snapshotsMax || bytes > snapshotBytesMax)
      throw new AdminError(
        409,
        `There may be ${snapshotsMax} snapshots, of ${snapshotBytesMax / 2 ** 20} MiB in all; DELETE one first.`,
      );
    snapshots.set(name, { plants: store.count(), createdAt: new Date().toISOString(), copy });
    return respondDone();
  }

  function find(name: string): Snapshot {
    const snapshot = snapshots.get(name);
    if (snapshot === undefined) throw new AdminError(404, `There is no snapshot ${JSON.stringify(name)}.`);
    return snapshot;
  }

  const described = () =>
    Array.from(snapshots, ([name, { plants, createdAt }]) => ({ name, plants, createdAt }));
  return {
    routes: {
      "GET /sandbox/plants": ({ query }) => list(query),
      "GET /sandbox/plants/{id}": ({ parameter }) => get(parseId(parameter, "The id")),
      "GET /sandbox/snapshots": () => respondControl({ snapshots: described() }),
      "PUT /sandbox/snapshots/{name}": ({ parameter }) => take(parameter),
      "POST /sandbox/snapshots/{name}/restore": ({ parameter }) => {
        store.replacePlants(find(parameter).copy);
        onReplaced();
        return respondDone();
      },
      "DELETE /sandbox/snapshots/{name}": ({ parameter }) => {
        find(parameter);
        snapshots.delete(parameter);
        return respondDone();
      },
    },
    describe: () => ({ plants: store.count(), snapshots: described() }),
  };
}

/** The first plants, and the id of the last of them if there are more. */
async function readPage(
  pages: AsyncIterable<readonly StoredPlant[]>,
  limit: number,
): Promise<{ plants: readonly NewPlant[]; next: bigint | null }> {
  const plants: NewPlant[] = [];
  let codeUnits = 0;
  for await (const some of pages)
    for (const { creation: _, ...plant } of some) {
      if (plants.length === limit || codeUnits >= codeUnitsMax)
        return { plants, next: plants.at(-1)?.id ?? null };
      plants.push(plant);
      codeUnits += countCodeUnits(plant);
    }
  return { plants, next: null };
}

function parseId(text: string, name: string): bigint {
  const id = parseInt64(text);
  if (id === undefined) throw new AdminError(400, `${name} must be a 64-bit integer in decimal digits.`);
  return id;
}
