// Changes and deletes plants for the commands, as one run of the history.

import { type NewPlant, type Plant, plantsEqual } from "../core/contract/plant.ts";
import { printable } from "../core/observability/terminal.ts";
import { OperatorError } from "../core/operator-error.ts";
import type { CommandStore, PlantStore } from "../core/store/plant-store.ts";
import { EditRun } from "../operations/edits.ts";
import { findPlant } from "../operations/stored-plants.ts";
import { describeChange } from "./describe-change.ts";
import { host } from "./host.ts";
import { printError } from "./output.ts";
import { withStore } from "./with-store.ts";

/**
 * Replaces stored plants by the results of `replace`, or deletes those for which it is undefined,
 * and prints each change. A plant that is missing, or that somebody else has changed since it was
 * read, is left as it is. Rejects with an OperatorError if one was.
 */
export async function replacePlants(
  database: string,
  ids: readonly bigint[],
  replace: (stored: NewPlant) => Plant | undefined,
): Promise<void> {
  await withStore(database, "writable", async (store) => {
    const run = commandRun(store);
    const left: string[] = [];
    for (const id of ids) {
      const reason = await replacePlant(store, run, id, replace);
      if (reason !== undefined) left.push(reason);
    }
    const { updated, deleted } = run.made;
    if (updated + deleted > 0) printError(`"plantstore history --undo ${run.id}" undoes this.`);
    const [only] = left;
    if (only === undefined) return;
    if (ids.length === 1) throw new OperatorError(only);
    for (const reason of left) printError(`plantstore: ${reason}`);
    throw new OperatorError(
      `${left.length} of ${ids.length} plants were left as they are; the lines above say why`,
    );
  });
}

/** Returns why the plant was left as it is; undefined if it is now what `replace` returned. */
async function replacePlant(
  store: CommandStore,
  run: EditRun,
  id: bigint,
  replace: (stored: NewPlant) => Plant | undefined,
): Promise<string | undefined> {
  await using sql = await store.openSql("read");
  const expected = await findPlant(sql, id);
  if (expected === undefined) return noSuchPlant(id);
  const replacement = replace(expected);
  if (replacement !== undefined && plantsEqual(expected, replacement)) return undefined;
  const [outcome] = await run.edit([{ id, expected, replacement }]);
  if (outcome === "missing") return noSuchPlant(id);
  if (outcome === "changed")
    return `the plant ${id} was changed at the same time, and was left as it is; try again`;
  printError(`plant ${id}: ${printable(describeChange(expected, replacement))}`);
  return undefined;
}

export function noSuchPlant(id: bigint): string {
  return `there is no plant with the id ${id} in this store`;
}

/** A run of the history by the user of this process. */
export function commandRun(store: Pick<PlantStore, "edit">): EditRun {
  const { USER: user, SUDO_USER: sudoUser } = host().environment;
  const uid = process.getuid?.();
  return new EditRun(store, {
    by: "command",
    ...(uid !== undefined && { uid }),
    ...(user !== undefined && { user }),
    ...(sudoUser !== undefined && { sudoUser }),
  });
}
