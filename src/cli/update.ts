// plantstore update ID: changes the fields of a plant.

import { Command, Option } from "commander";
import { ApiError } from "../core/contract/errors.ts";
import { type FieldName, type FieldValue, fieldNames, isRequired, typeOf } from "../core/contract/fields.ts";
import { type NewPlant, newPlantJson, type Plant, parseNewPlantJson } from "../core/contract/plant.ts";
import { OperatorError } from "../core/operator-error.ts";
import { withSettings } from "./config/command-options.ts";
import { parseIdArgument } from "./config/parsers.ts";
import { replacePlants } from "./edit-plants.ts";

export function updateCommand(): Command {
  const command = new Command("update")
    .description("change fields of a plant")
    .argument("<id>", "id of the plant, a 64-bit integer")
    .addHelpText("after", "\nA later create with this id is compared with the changed plant.");
  for (const field of fieldNames) {
    command.option(`--${flagOf(field)} <value>`, `new ${field} of the plant`);
    if (!isRequired(field)) command.option(`--remove-${flagOf(field)}`, `remove the ${field} of the plant`);
  }
  return withSettings(command, ["database", "bodyBytesMax"], async (config, text: string) => {
    const id = parseIdArgument(text);
    const changes = fieldNames.flatMap((field) => changeOf(field, command));
    if (changes.length === 0) throw new OperatorError("nothing to change: give a field, such as --name", 2);
    await replacePlants(config.database, [id], (stored) =>
      validated({ ...stored, ...Object.fromEntries(changes) }, config.bodyBytesMax),
    );
  });
}

/** The change of a field that the options ask for, if any: undefined removes it. */
function changeOf(field: FieldName, command: Command): [FieldName, FieldValue | undefined][] {
  const flag = flagOf(field);
  const given = (name: string) => command.getOptionValue(new Option(name).attributeName());
  const text: string | undefined = given(`--${flag}`);
  const isRemoved = given(`--remove-${flag}`) === true;
  if (text !== undefined && isRemoved)
    throw new OperatorError(`--${flag} and --remove-${flag} contradict each other; give one of them`, 2);
  if (isRemoved) return [[field, undefined]];
  if (text === undefined) return [];
  const value = typeOf(field).parse(text);
  if (value === undefined) throw new OperatorError(`--${flag} must be ${typeOf(field).expected}`, 2);
  return [[field, value as FieldValue]];
}

/** The option of a field, such as height-cm. */
function flagOf(field: FieldName): string {
  return field.replaceAll("_", "-");
}

/** The plant as a create would store it. */
function validated(edited: Plant & { readonly id: bigint }, bodyBytesMax: number): NewPlant {
  const body = newPlantJson(edited);
  if (Buffer.byteLength(body) > bodyBytesMax)
    throw new OperatorError(
      `the plant would be larger than the ${bodyBytesMax} bytes that --body-bytes-max allows`,
      2,
    );
  const plant = parseNewPlantJson(body);
  if (plant instanceof ApiError) throw new OperatorError(plant.message, 2);
  return plant;
}
