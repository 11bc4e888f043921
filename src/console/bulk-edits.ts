// The console's calls that delete many plants, or set the group of many, in one run of the history.

import { isStorable } from "../core/contract/field-types.ts";
import { groupField } from "../core/contract/fields.ts";
import { type NewPlant, newPlantJson } from "../core/contract/plant.ts";
import { editsMax } from "../core/store/plant-edit.ts";
import { storedPlants } from "../operations/edits.ts";
import type { ConsoleContext } from "./context.ts";
import type { Edits } from "./edits.ts";
import { parseId } from "./parse-id.ts";
import { parseSearch, searchPages } from "./plants.ts";
import { BadRequestError } from "./responses.ts";

/** Plants that can be edited at once. */
const plantsMax = 10_000;

/** A search without the index may scan the whole store. */
const searchMsMax = 30_000;

/** The ids of the first plants that a search finds, and whether these are all. */
export async function findIds({ reader }: ConsoleContext, parameters: URLSearchParams) {
  const deadline = performance.now() + searchMsMax;
  const ids: bigint[] = [];
  for await (const page of searchPages(await reader(), parseSearch(parameters))) {
    ids.push(...page.map(({ id }) => id));
    if (ids.length <= plantsMax && performance.now() < deadline) continue;
    return { ids: ids.slice(0, plantsMax), isComplete: false };
  }
  return { ids, isComplete: true };
}

/**
 * Deletes plants or sets their group, each as it is stored when its turn comes.
 *
 * @param ids separated by spaces.
 * @param change `delete`, `group` to set the field that groups plants, or `ungroup` to remove it.
 */
export async function editPlants(
  { reader, bodyBytesMax }: ConsoleContext,
  edits: Edits,
  { ids, change, group }: { ids: string; change: string; group: string },
  client: string,
) {
  const parsed = [...new Set(ids.split(" ").map(parseId))];
  if (parsed.length > plantsMax)
    throw new BadRequestError(`At most ${plantsMax} plants can be edited at once.`);
  const changes = ["delete", ...(groupField === undefined ? [] : ["group", "ungroup"])];
  if (!changes.includes(change)) throw new BadRequestError("There is no such change.");
  if (!isStorable(group))
    throw new BadRequestError(`The ${groupField} has a character that cannot be stored.`);
  const sql = await reader();
  const run = edits.startRun(client);
  const newGroup = change === "group" ? group : undefined;
  let unchanged = 0;
  let left = 0;
  try {
    for (let at = 0; at < parsed.length; at += editsMax) {
      const some = parsed.slice(at, at + editsMax);
      const stored = [...(await storedPlants(sql, some)).values()];
      const changed = stored.flatMap((expected) => {
        const replacement = change === "delete" ? undefined : withGroup(expected, newGroup, bodyBytesMax);
        return replacement === expected ? [] : [{ id: expected.id, expected, replacement }];
      });
      const outcomes = await run.edit(changed);
      unchanged += stored.length - changed.length;
      left += some.length - stored.length + outcomes.filter((outcome) => outcome !== "done").length;
    }
  } finally {
    edits.reportRun(run, client);
  }
  const { updated, deleted } = run.made;
  return { run: run.id, edited: updated + deleted, unchanged, left };
}

/** The plant itself if it has the group, or would become larger than a client may send. */
function withGroup(plant: NewPlant, group: string | undefined, bodyBytesMax: number): NewPlant {
  if (groupField === undefined || plant[groupField] === group) return plant;
  const { [groupField]: _, ...ungrouped } = plant;
  if (group === undefined) return ungrouped as NewPlant;
  const replacement = { ...ungrouped, [groupField]: group } as NewPlant;
  return Buffer.byteLength(newPlantJson(replacement)) > bodyBytesMax ? plant : replacement;
}
