// The console's calls that delete many plants, or set the group of many, in one run of the history.

import { isStorable } from "../core/contract/field-types.ts";
import { groupField } from "../core/contract/fields.ts";
import { type NewPlant, newPlantJson } from "../core/contract/plant.ts";
import { editsMax, type PlantEdit } from "../core/store/plant-edit.ts";
import { storedPlants } from "../operations/edits.ts";
import type { ConsoleContext } from "./context.ts";
import type { Edits } from "./edits.ts";
import { parseId } from "./parse-id.ts";
import { inFull, versionOf } from "./plant-rows.ts";
import { parseSearch, searchPages } from "./plants.ts";
import { BadRequestError } from "./responses.ts";

/** Plants that can be edited at once. */
const plantsMax = 10_000;

/** A search without the index may scan the whole store. */
const searchMsMax = 30_000;

/** Ids in a response, of those that are named. */
const namedMax = 20;

/** The ids and versions of the first plants that a search finds, and whether these are all. */
export async function findVersions({ reader }: ConsoleContext, parameters: URLSearchParams) {
  const deadline = performance.now() + searchMsMax;
  const sql = await reader();
  const plants: { id: bigint; version: string }[] = [];
  for await (const page of searchPages(sql, parseSearch(parameters))) {
    const room = plantsMax - plants.length;
    for (const plant of page.slice(0, room))
      plants.push({ id: plant.id, version: versionOf(await inFull(sql, plant)) });
    if (page.length > room || performance.now() > deadline) return { plants, isComplete: false };
  }
  return { plants, isComplete: true };
}

/**
 * Deletes plants or sets their group. A plant that is no longer the one that was shown stays as it
 * is, and so does one that would become larger than a client may send.
 *
 * @param plants each an id, a colon and the version that was shown; separated by spaces.
 * @param change `delete`, `group` to set the field that groups plants, or `ungroup` to remove it.
 */
export async function editSelected(
  { reader, bodyBytesMax }: ConsoleContext,
  edits: Edits,
  { plants, change, group }: { plants: string; change: string; group: string },
  client: string,
) {
  const shown = [...parseVersions(plants)];
  if (shown.length > plantsMax)
    throw new BadRequestError(`At most ${plantsMax} plants can be edited at once.`);
  const changes = ["delete", ...(groupField === undefined ? [] : ["group", "ungroup"])];
  if (!changes.includes(change)) throw new BadRequestError("There is no such change.");
  if (!isStorable(group))
    throw new BadRequestError(`The ${groupField} has a character that cannot be stored.`);
  const sql = await reader();
  const run = edits.startRun(client);
  const newGroup = change === "group" ? group : undefined;
  let unchanged = 0;
  const changedMeanwhile: bigint[] = [];
  const tooLarge: bigint[] = [];
  try {
    for (let at = 0; at < shown.length; at += editsMax) {
      const some = shown.slice(at, at + editsMax);
      const stored = await storedPlants(
        sql,
        some.map(([id]) => id),
      );
      const made: PlantEdit[] = [];
      for (const [id, version] of some) {
        const expected = stored.get(id);
        const replacement = change === "delete" ? undefined : expected && withGroup(expected, newGroup);
        if (expected === undefined || versionOf(expected) !== version) changedMeanwhile.push(id);
        else if (replacement === expected) unchanged++;
        else if (replacement !== undefined && Buffer.byteLength(newPlantJson(replacement)) > bodyBytesMax)
          tooLarge.push(id);
        else made.push({ id, expected, replacement });
      }
      const outcomes = await run.edit(made);
      changedMeanwhile.push(...made.flatMap(({ id }, index) => (outcomes[index] === "done" ? [] : [id])));
    }
  } finally {
    edits.reportRun(run, client);
  }
  const { updated, deleted } = run.made;
  return {
    run: run.id,
    edited: updated + deleted,
    unchanged,
    changedMeanwhile: counted(changedMeanwhile),
    tooLarge: { ...counted(tooLarge), bodyBytesMax },
  };
}

function parseVersions(plants: string): Map<bigint, string> {
  return new Map(
    plants.split(" ").map((plant) => {
      const [id = "", version] = plant.split(":");
      if (version === undefined) throw new BadRequestError("A plant must be an id, a colon and a version.");
      return [parseId(id), version];
    }),
  );
}

function counted(ids: readonly bigint[]) {
  return { count: ids.length, ids: ids.slice(0, namedMax) };
}

/** The plant itself if it has the group. */
function withGroup(plant: NewPlant, group: string | undefined): NewPlant {
  if (groupField === undefined || plant[groupField] === group) return plant;
  const { [groupField]: _, ...ungrouped } = plant;
  return (group === undefined ? ungrouped : { ...ungrouped, [groupField]: group }) as NewPlant;
}
