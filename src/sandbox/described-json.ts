// Checks a JSON body against a schema of openapi-control.yaml, which is the one source of what
// control accepts.

import type { Ajv2020, ErrorObject } from "ajv/dist/2020.js";
import { BadRequestError } from "../admin-pages/admin-responses.ts";

/** Loaded late: it would take 25 ms of each start. */
async function loadSchemas(document: object): Promise<Ajv2020> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    // A field may be called constructor.
    ownProperties: true,
    formats: { regex: isPattern },
    // It would warn of formats that it does not know, such as int64.
    logger: false,
  });
  return ajv.addSchema({ ...document, $id: "control" });
}

/**
 * Returns a body that a schema allows. Rejects with a BadRequestError that names the field, and
 * says what is right.
 *
 * @param reference refers to the schema, such as "#/components/schemas/Rule".
 */
export type ParseDescribed = <Described>(body: unknown, reference: string | undefined) => Promise<Described>;

/** Parses bodies by the schemas of a document. */
export function describedJson(document: object): ParseDescribed {
  let schemas: Promise<Ajv2020> | undefined;
  return async <Described>(body: unknown, reference: string | undefined) => {
    schemas ??= loadSchemas(document);
    const validate = (await schemas).getSchema(`control${reference}`);
    if (validate === undefined) throw new Error(`openapi-control.yaml has no schema ${reference}`);
    const isValid = validate(JSON.parse(JSON.stringify(body, toNumber)));
    // The errors of alternatives come before that of the member which has to match one of them.
    const error = validate.errors?.at(-1);
    if (!isValid && error !== undefined) throw new BadRequestError(describeError(error));
    return body as Described;
  };
}

/** The schemas know no bigint. One that is no int64 becomes a string, which they reject. */
function toNumber(_: string, value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  return BigInt.asIntN(64, value) === value ? Number(value) : String(value);
}

function describeError({ keyword, instancePath, schemaPath, message = "", params }: ErrorObject): string {
  const subject = instancePath === "" ? "The body" : instancePath.slice(1).replaceAll("/", ".");
  const unknown: unknown = params.additionalProperty ?? params.unevaluatedProperty;
  if (unknown !== undefined) return `${subject} has an unknown member "${unknown}".`;
  if (keyword === "enum") return `${subject} must be one of ${params.allowedValues.join(", ")}.`;
  if (keyword === "false schema")
    return `${subject} cannot be combined with ${/dependentSchemas\/(\w+)/.exec(schemaPath)?.[1]}.`;
  return `${subject} ${message}.`;
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}
