// The generator of src/core/contract/new-plant-validator.js: ajv's code for the schema NewPlant of
// openapi.yaml.

import { Ajv2020 } from "ajv/dist/2020.js";
import ajvStandalone from "ajv/dist/standalone/index.js";
import openapi from "../openapi.yaml";

const path = "src/core/contract/new-plant-validator.js";
const root = new URL("..", import.meta.url).pathname;

/** Where the server has it. */
export const validatorFile = `${root}${path}`;

const header = `// The check of a NewPlant, made by ajv from openapi.yaml: npm run update:validator
// biome-ignore-all lint: generated

`;

/** The text that the file must have. */
export function generateValidator(): Promise<string> {
  const isLinted = { meta: false, validateSchema: false };
  const code = { source: true, esm: true };
  const ajv = new Ajv2020({ allErrors: true, ownProperties: true, ...isLinted, code });
  // Checked by the digits of the text, see parseExactId: a JavaScript number has lost some of them.
  ajv.addFormat("int64", true);
  ajv.addVocabulary(["components"]);
  const { NewPlant, Plant } = forValidation(openapi.components.schemas);
  const validate = ajv.compile({ ...NewPlant, components: { schemas: { Plant } } });
  // Exported twice, by name and as the default.
  const source = ajvStandalone(ajv, validate).replace(/export default \w+;/, "");
  return format(header + source);
}

const int32Range = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };

/**
 * ajv copies the schemas to the code. Text that cannot be stored has an error of its own, so no
 * pattern is checked; an int32 is checked by its range, as ajv knows no format of numbers.
 */
function forValidation<Value>(schemas: Value): Value {
  const ignored = ["description", "examples", "pattern"];
  return JSON.parse(
    JSON.stringify(schemas, (key, value) => {
      if (ignored.includes(key)) return undefined;
      if (value?.format !== "int32") return value;
      const { format: _, ...rest } = value;
      return { ...int32Range, ...rest };
    }),
  );
}

async function format(code: string): Promise<string> {
  const biome = Bun.spawn(["node_modules/.bin/biome", "format", `--stdin-file-path=${path}`], {
    cwd: root,
    stdin: new Blob([code]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [formatted, errors] = await Promise.all([biome.stdout.text(), biome.stderr.text()]);
  if ((await biome.exited) !== 0) throw new Error(errors);
  return formatted;
}
