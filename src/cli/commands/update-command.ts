// plantstore update ID: changes the fields of a plant.

import { Command } from "commander";
import { ApiError } from "../../base/errors.ts";
import { OperatorError } from "../../base/operator-error.ts";
import type { Collection, Field, Plant, Values } from "../../contract/contract.ts";
import { parsePlantJson, plantJson } from "../../contract/plant.ts";
import type { FieldValue } from "../../contract/stored-types.ts";
import { withSettings } from "../command-options.ts";
import { replacePlants } from "./edit-plants.ts";
import { assertFlags, type FieldFlag, flagOf, parseFieldFlags } from "./field-flags.ts";

export function updateCommand(): Command {
  const command = new Command("update")
    .description("change fields of a resource")
    .argument("<id>", "id of the resource")
    .argument("[fields...]", "the fields to change, as --FIELD VALUE, or --remove-FIELD, such as --tag tree")
    .allowUnknownOption()
    .addHelpText("after", "\nA later create with this id is compared with the changed resource.");
  const names = ["collection", "database", "bodyBytesMax"] as const;
  return withSettings(command, names, async (config, text: string, args: string[]) => {
    assertFlags(args);
    await replacePlants(config, [text], (collection) => {
      const changes = changesOf(collection, parseFieldFlags(collection, args));
      return ({ id, values }) => {
        const changed = collection.fields.map((field, index) =>
          changes.has(field) ? changes.get(field) : values[index],
        );
        return validated(collection, { id, values: changed }, config.bodyBytesMax);
      };
    });
  });
}

/** The values that the flags ask for; undefined for a field that is to be removed. */
function changesOf(collection: Collection, flags: readonly FieldFlag[]): Map<Field, FieldValue | undefined> {
  if (flags.length === 0) {
    const [first] = collection.fields;
    throw new OperatorError(`nothing to change: give a field, such as --${first && flagOf(first)}`, 2);
  }
  const changes = new Map<Field, FieldValue | undefined>();
  for (const { field, isRemoved, text } of flags) {
    const flag = `--${flagOf(field)}`;
    if (changes.has(field))
      throw new OperatorError(`give ${flag} or --remove-${flagOf(field)}, and only once`, 2);
    const value = isRemoved ? undefined : field.type.parse(text);
    if (value === undefined && !isRemoved)
      throw new OperatorError(`${flag} must be ${field.type.expected}`, 2);
    changes.set(field, value);
  }
  return changes;
}

/** The values as a create would store them. */
function validated(collection: Collection, edited: Plant, bodyBytesMax: number): Values {
  const body = plantJson(collection, edited);
  if (Buffer.byteLength(body) > bodyBytesMax)
    throw new OperatorError(
      `the ${collection.words.one} would be larger than the ${bodyBytesMax} bytes that --body-bytes-max allows`,
      2,
    );
  const plant = parsePlantJson(collection, body);
  if (plant instanceof ApiError) throw new OperatorError(plant.message, 2);
  return plant.values;
}
