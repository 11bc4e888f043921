// Changes and deletes plants for the commands, as one run of the history.

import { parts } from "../../base/parts.ts";
import { printable } from "../../base/terminal.ts";
import { type Collection, type Plant, type Values, valuesEqual } from "../../contract/contract.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { type Editor, EditRun } from "../../plants/edit-run.ts";
import { databaseFlag } from "../../process/command-name.ts";
import { parseId } from "../../process/config/parsers.ts";
import type { Config } from "../../process/config/resolve.ts";
import { host } from "../../process/host.ts";
import { printError } from "../../process/output.ts";
import type { PlantStore } from "../../store/plant-store.ts";
import { editsMax } from "../../store/shared/plant-edit.ts";
import { findPlants, nextVersion } from "../../store/shared/plant-rows.ts";
import { chosenCollection } from "./collection-setting.ts";
import { describeChange } from "./describe-change.ts";
import { withStore } from "./with-store.ts";

/**
 * Replaces stored plants by the results of a function that `replacer` makes for the contract of the
 * store, or deletes those for which it is undefined, and prints each change. A plant that is
 * missing, or that somebody else has changed since it was read, is left as it is, which a line
 * says, and the exit code 1.
 */
export async function replacePlants(
  config: Config<"collection" | "database">,
  texts: readonly string[],
  replacer: (collection: Collection) => (stored: Plant) => Values | undefined,
): Promise<void> {
  await withStore(config.database, "writable", async (store) => {
    const collection = chosenCollection(store.contract, config.collection);
    const ids = [...new Set(texts.map((text) => parseId(collection, text)))];
    const replace = replacer(collection);
    const run = commandRun(store);
    await using sql = await store.openSql();
    const left: string[] = [];
    for (const some of parts(ids, editsMax)) {
      const stored = await findPlants(collection, sql, some);
      const edits = some.flatMap((id) => {
        const expected = stored.get(id);
        if (expected === undefined) {
          left.push(noSuchPlant(collection, id));
          return [];
        }
        const replacement = replace(expected);
        const isEqual = replacement !== undefined && valuesEqual(collection, expected.values, replacement);
        return isEqual ? [] : [{ id, expected, replacement, version: nextVersion(expected.version) }];
      });
      const outcomes = await run.edit(collection, edits);
      for (const [index, { id, expected, replacement }] of edits.entries()) {
        if (outcomes[index] === "done")
          printError(
            `${collection.words.one} ${id}: ${printable(describeChange(collection, expected.values, replacement))}`,
          );
        else
          left.push(
            `the ${collection.words.one} ${id} was changed at the same time, and was left as it is; try again`,
          );
      }
    }
    const { updated, deleted } = run.made;
    if (updated + deleted > 0)
      printError(`"plantstore history --undo ${run.id}${databaseFlag(config)}" undoes this.`);
    for (const reason of left) printError(`plantstore: ${reason}`);
    if (left.length > 0) host().setExitCode(1);
  });
}

export function noSuchPlant({ words }: Collection, id: PlantId): string {
  return `there is no ${words.one} with the id ${id} in this store`;
}

/** A run of the history by the user of this process. */
export function commandRun(store: Pick<PlantStore, "edit" | "engine">): EditRun {
  const { USER: user, SUDO_USER: sudoUser } = host().environment;
  const uid = process.getuid?.();
  const editor: Editor = {
    by: "command",
    ...(uid !== undefined && { uid }),
    ...(user !== undefined && { user }),
    ...(sudoUser !== undefined && { sudoUser }),
  };
  return new EditRun(store, editor, store.engine === "sqlite" ? Bun.sleep : undefined);
}
