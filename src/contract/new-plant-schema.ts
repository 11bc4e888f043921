// The shape of a NewPlant, compiled from the description that is served, so that the two cannot drift.

import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import openapi from "../../openapi.yaml";

/** The interface description, openapi.yaml, as a value. */
export const description = openapi;

/** One field at fault, and the sentence about it. The field is "" where the body as a whole is at fault. */
export interface FieldError {
  readonly field: string;
  readonly sentence: string;
}

const schemas = openapi.components.schemas;
const newPlantRef = { $ref: "#/components/schemas/NewPlant" };
const validate = newPlantValidator();
const properties = propertiesOf(newPlantRef);

/**
 * What keeps a parsed body from being a NewPlant, one fault a field; none if it is one. Numbers are judged as
 * JavaScript numbers, so an id that passes here must still be judged on its exact text.
 */
export function validateNewPlant(body: unknown): FieldError[] {
  if (validate(body)) return [];
  const faults = new Map<string, FieldError>();
  for (const error of validate.errors ?? []) {
    const fault = faultOf(error);
    if (!faults.has(fault.field)) faults.set(fault.field, fault);
  }
  return [...faults.values()];
}

/** What a field must be, in words: "an integer (int64)". */
export function expectedType(field: string): string {
  const property = properties[field];
  if (property === undefined) throw new Error(`The schema NewPlant has no field ${field}`);
  const article = /^[aeiou]/.test(property.type) ? "an" : "a";
  return `${article} ${property.type}${property.format === undefined ? "" : ` (${property.format})`}`;
}

function newPlantValidator() {
  // openapi.yaml is linted before it lands; validating it here would add 65 ms of processor time to every start.
  const isLinted = { meta: false, validateSchema: false };
  const ajv = new Ajv2020({ allErrors: true, verbose: true, ownProperties: true, ...isLinted });
  // Judged on the exact text of the number, see exact-integer.ts: a JavaScript number has lost its digits by now.
  ajv.addFormat("int64", true);
  ajv.addFormat("int32", true);
  ajv.addVocabulary(["components"]);
  return ajv.compile({ ...newPlantRef, components: { schemas } });
}

function propertiesOf(schema: ObjectSchema): NonNullable<ObjectSchema["properties"]> {
  const name = schema.$ref?.split("/").at(-1);
  const parts = [name === undefined ? undefined : schemas[name], ...(schema.allOf ?? [])];
  return Object.assign({}, ...parts.map((part) => part && propertiesOf(part)), schema.properties);
}

function faultOf(error: ErrorObject): FieldError {
  if (error.keyword === "required") {
    const field: string = error.params.missingProperty;
    return { field, sentence: `"${field}" is required and must be ${expectedType(field)}, but is missing` };
  }
  const field = error.instancePath.slice(1);
  const subject = field === "" ? "it" : `"${field}"`;
  if (error.keyword !== "type") return { field, sentence: `${subject} ${error.message}` };
  const expectation = field === "" ? "an object" : expectedType(field);
  return { field, sentence: `${subject} must be ${expectation}, but is ${kindOf(error.data)}` };
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === Infinity || value === -Infinity) return "far outside its range";
  if (typeof value === "number") return `the number ${value}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
