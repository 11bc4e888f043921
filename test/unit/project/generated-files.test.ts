// openapi.yaml and the types of the packages say what the resource says.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { generateDescription, generatedFiles } from "../../../scripts/generate.ts";
import { fieldNames, isRequired, sample, titleField, typeOf } from "../../../src/core/contract/fields.ts";
import { sampleBody, toJsonPlant } from "../../../src/core/contract/plant.ts";

const root = new URL("../../..", import.meta.url).pathname;
const description = readFileSync(join(root, "openapi.yaml"), "utf8");
const advice = "run npm run generate";

test.each([...(await generatedFiles())])("%s is up to date", (path, text) => {
  expect(readFileSync(join(root, path), "utf8") === text ? advice : `${path} is not: ${advice}`).toBe(advice);
});

interface Description {
  readonly components: {
    readonly schemas: {
      readonly Plant: {
        readonly required: readonly string[];
        readonly properties: Readonly<Record<string, object>>;
      };
    };
  };
}

test("the schema Plant has the fields, what is required, and the schema and example of each type", () => {
  const { required, properties } = (Bun.YAML.parse(description) as Description).components.schemas.Plant;
  expect(Object.keys(properties)).toEqual([...fieldNames]);
  expect(required).toEqual(fieldNames.filter(isRequired));
  const examples = JSON.parse(JSON.stringify(toJsonPlant(sample())));
  for (const field of fieldNames)
    expect(properties[field]).toMatchObject({ ...typeOf(field).schema, examples: [examples[field]] });
});

test("another field in the schema, the examples, a sample or a message is replaced", () => {
  const example = typeOf(titleField).format(sample()[titleField]);
  const outdated = description
    .replaceAll(sampleBody(1n), '{"id": 1, "former": "value"}')
    .replaceAll(`{ id: 1, ${titleField}: ${example}`, "{ id: 1, former: value")
    .replaceAll(`"${titleField}" holds`, '"former" holds')
    .replaceAll(`"${titleField}" is required`, '"former" is required')
    .replace(`required: [${titleField}`, "required: [former")
    .replace(`examples: [${example}]`, "examples: [value]");
  expect(outdated.match(/former|\[value\]/g)?.length).toBeGreaterThanOrEqual(8);
  expect(generateDescription(outdated)).toBe(description);
});

test("descriptions, and the names of examples, stay as they were written", () => {
  const own = description
    .replace("description: A plant.", "description: |\n        A plant of ours,\n        in two lines.")
    .replaceAll("withTag:", "tagged:");
  expect(own).not.toBe(description);
  expect(generateDescription(own)).toBe(own);
});
