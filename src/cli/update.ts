// plantstore update ID: changes the name or the tag of a plant.

import { Command } from "commander";
import { ApiError } from "../core/contract/errors.ts";
import { type NewPlant, newPlantJson, type Plant, parseNewPlantJson } from "../core/contract/plant.ts";
import { OperatorError } from "../core/operator-error.ts";
import { withSettings } from "./config/command-options.ts";
import { editPlants, editStored } from "./edit-plants.ts";
import { parseIdArgument } from "./id-argument.ts";

export function updateCommand(): Command {
  const command = new Command("update")
    .description(
      "change the name or the tag of a plant, and log that with its time and user to standard error",
    )
    .argument("<id>", "id of the plant, a 64-bit integer")
    .addHelpText("after", "\nA later create with this id is compared with the changed plant.");
  return withSettings(
    command,
    ["newName", "newTag", "removeTag", "database"],
    async ({ newName, newTag, removeTag, database }, text: string) => {
      const id = parseIdArgument(text);
      if (newName === undefined && newTag === undefined && !removeTag)
        throw new OperatorError("nothing to change: give --name, --tag or --remove-tag", 2);
      if (newTag !== undefined && removeTag)
        throw new OperatorError("--tag and --remove-tag contradict each other; give one of them", 2);
      await editPlants(database, async ({ store, run, edited }) => {
        const isChanged = await editStored({ store, run }, id, (stored) => {
          const { tag, ...others } = stored;
          return validated({
            ...others,
            name: newName ?? stored.name,
            ...(!removeTag && tag !== undefined ? { tag } : {}),
            ...(newTag === undefined ? {} : { tag: newTag }),
          });
        });
        if (isChanged) edited("updated", id);
      });
    },
  );
}

/** The plant as a create would store it. */
function validated(edited: Plant & { readonly id: bigint }): NewPlant {
  const plant = parseNewPlantJson(newPlantJson(edited));
  if (plant instanceof ApiError) throw new OperatorError(plant.message, 2);
  return plant;
}
