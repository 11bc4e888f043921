// plantstore update ID: changes the fields of a plant.

import { Command, Option } from "commander";
import { ApiError } from "../core/contract/errors.ts";
import {
  type FieldName,
  type FieldValue,
  fieldNames,
  isRequired,
  parseFieldText,
} from "../core/contract/fields.ts";
import { type NewPlant, newPlantJson, type Plant, parseNewPlantJson } from "../core/contract/plant.ts";
import { OperatorError } from "../core/operator-error.ts";
import { withSettings } from "./config/command-options.ts";
import { editPlants, editStored } from "./edit-plants.ts";
import { parseIdArgument } from "./id-argument.ts";

/**
 * The fields besides the name and the tag, which are settings; an option changes each, or removes
 * it.
 */
const otherFields: readonly FieldName[] = fieldNames.filter((field) => field !== "name" && field !== "tag");

export function updateCommand(): Command {
  const command = new Command("update")
    .description(
      `change ${otherFields.length === 0 ? "the name or the tag" : "fields"} of a plant, and log that with its time and user to standard error`,
    )
    .argument("<id>", "id of the plant, a 64-bit integer")
    .addHelpText("after", "\nA later create with this id is compared with the changed plant.");
  for (const field of otherFields) {
    command.option(`--${flagOf(field)} <value>`, `new ${field} of the plant`);
    if (!isRequired(field)) command.option(`--remove-${flagOf(field)}`, `remove the ${field} of the plant`);
  }
  return withSettings(
    command,
    ["newName", "newTag", "removeTag", "database"],
    async ({ newName, newTag, removeTag, database }, text: string) => {
      const id = parseIdArgument(text);
      const others = otherChanges(command);
      if (newName === undefined && newTag === undefined && !removeTag && others.length === 0)
        throw new OperatorError("nothing to change: give --name, --tag or --remove-tag", 2);
      if (newTag !== undefined && removeTag)
        throw new OperatorError("--tag and --remove-tag contradict each other; give one of them", 2);
      await editPlants(database, async ({ store, run, edited }) => {
        const isChanged = await editStored({ store, run }, id, (stored) => {
          const { tag, ...rest } = stored;
          return validated({
            ...rest,
            ...Object.fromEntries(others),
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

/** The options of otherFields that are given, with undefined for a field that is to be removed. */
function otherChanges(command: Command): [FieldName, FieldValue | undefined][] {
  const given = (flag: string) => command.getOptionValue(new Option(flag).attributeName());
  return otherFields.flatMap((field): [FieldName, FieldValue | undefined][] => {
    if (given(`--remove-${flagOf(field)}`)) return [[field, undefined]];
    const text: string | undefined = given(`--${flagOf(field)}`);
    if (text === undefined) return [];
    const value = parseFieldText(field, text);
    if (value === undefined)
      throw new OperatorError(`--${flagOf(field)} does not have the type of ${field}`, 2);
    return [[field, value]];
  });
}

/** The option of a field, such as height-cm. */
function flagOf(field: FieldName): string {
  return field.replaceAll("_", "-");
}

/** The plant as a create would store it. */
function validated(edited: Plant & { readonly id: bigint }): NewPlant {
  const plant = parseNewPlantJson(newPlantJson(edited));
  if (plant instanceof ApiError) throw new OperatorError(plant.message, 2);
  return plant;
}
