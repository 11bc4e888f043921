// Reads the errors of a description: their shapes, as far as they can be filled, and their statuses.

import {
  type ErrorContent,
  type ErrorFormat,
  type ErrorMembers,
  type ErrorPart,
  type ErrorShape,
  ownErrorShape,
  pathOfPart,
} from "../../contract/error-format.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { contractErrorOf, type Place, readable } from "../document/place.ts";
import { propertiesOf, requiredOf } from "../schema/restrictions.ts";
import { type DescribedOperation, jsonMediaOf } from "./described-operation.ts";
import { expandSchema } from "./expanded-schema.ts";
import { valueTypes } from "./field-type.ts";

/**
 * Reads the shapes of the errors of an operation, by their statuses in capitals, such as "4XX".
 *
 * @param onUnfit takes those that cannot be filled, and why.
 */
function readShapes(
  { place }: DescribedOperation,
  onUnfit?: (place: Place, reason: string) => void,
): ReadonlyMap<string, ErrorShape> {
  const shapes = new Map<string, ErrorShape>();
  for (const [status, response] of place.at("responses").members) {
    if (!/^(?:[45]|default$)/i.test(status)) continue;
    try {
      const shape = readShape(response);
      if (shape !== undefined) shapes.set(status.toUpperCase(), shape);
    } catch (error) {
      onUnfit?.(response, contractErrorOf(error).problem);
    }
  }
  return shapes;
}

/** The shape of errors that an operation does not describe: the first one that can be filled. */
export function commonShape(operations: readonly DescribedOperation[]): ErrorShape {
  for (const operation of operations)
    for (const shape of readable(() => readShapes(operation))?.values() ?? []) return shape;
  return ownErrorShape;
}

/** How the errors of an operation are written. Notes those that are not as described. */
export function errorFormatOf(operation: DescribedOperation, common: ErrorShape): ErrorFormat {
  const names = common.members.map(([name]) => JSON.stringify(name)).join(", ");
  const shapes = readShapes(operation, (place, reason) =>
    place.note(`errors have the members ${names}, whatever is described, as ${reason}`),
  );
  return {
    shape: shapes.get("4XX") ?? shapes.get("DEFAULT") ?? common,
    shapes: Object.fromEntries([...shapes].filter(([status]) => /^[45]\d\d$/.test(status))),
    statuses: describedStatuses(operation.place.at("responses").members.map(([status]) => status)),
  };
}

/** The statuses that errors have where an operation describes these. */
function describedStatuses(statuses: readonly string[]): ErrorFormat["statuses"] {
  const conflict = statuses.includes("409") && { conflict: 409 };
  const condition = !statuses.includes("428") && { preconditionRequired: 400 };
  const isUnprocessable = statuses.includes("422") && !statuses.includes("400");
  const invalid = { invalidJson: 422, invalidPlant: 422, unstorableText: 422, invalidParameter: 422 };
  return { ...conflict, ...condition, ...(isUnprocessable && invalid) };
}

/** The shape of a described error; undefined for one without JSON. Throws a ContractError. */
function readShape(response: Place): ErrorShape | undefined {
  const [type, media] = jsonMediaOf(response) ?? [];
  const described = media?.at("schema");
  if (type === undefined || described === undefined || !isObject(described.value)) return undefined;
  const isProblem = /^application\/problem\+json\b/i.test(type);
  const contentType = isProblem ? "application/problem+json" : "application/json";
  const schema = expandSchema(described);
  const isOpen = schema.additionalProperties !== false;
  const members = isProblem && isOpen ? problemMembers(schema) : undefined;
  return {
    contentType,
    members: members ?? membersOf(schema, described, 0),
    schema: described.value,
  };
}

/** The members of RFC 9457, section 3.1, unless the schema requires others. */
function problemMembers(schema: Json): ErrorMembers | undefined {
  const members: ErrorMembers = [
    ["type", "type"],
    ["title", "title"],
    ["status", "status"],
    ["detail", "message"],
  ];
  const properties = propertiesOf(schema);
  const isFit = members.every(([name]) => {
    const types = valueTypes(properties[name] ?? {});
    return types.has(name === "status" ? "integer" : "string");
  });
  const isEnough = requiredOf(schema).every((name) => members.some(([each]) => each === name));
  return isFit && isEnough ? members : undefined;
}

/** Objects in objects and arrays, at most: `{"error": {"details": [{…}]}}`. */
const depthMax = 4;

/** The members of an error. Throws a ContractError for one that is required and that nothing fits. */
function membersOf(schema: Json, place: Place, depth: number): ErrorMembers {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const members: [string, ErrorContent][] = [];
  for (const [name, property] of Object.entries(properties)) {
    const isRequired = required.includes(name);
    const holds = isObject(property) ? contentOf(name, property, { isRequired, place, depth }) : undefined;
    if (holds !== undefined) members.push([name, holds]);
    else if (isRequired && valueTypes(property).has("null")) members.push([name, { constant: null }]);
    else if (isRequired) throw place.error(`nothing fits "${name}" here`);
  }
  const undescribed = required.find((name) => !Object.hasOwn(properties, String(name)));
  if (undescribed !== undefined) throw place.error(`nothing fits "${undescribed}" here`);
  // An error that says nothing is of no use.
  if (pathOfPart({ members }, "message") === undefined) throw place.error('nothing fits "message" here');
  return members;
}

interface MemberContext {
  readonly isRequired: boolean;
  readonly place: Place;
  readonly depth: number;
}

/** Names of texts that hold the message also where they are optional. */
const messageNames = [
  ...["message", "detail", "error", "error_description", "description"],
  ...["msg", "messages", "errors", "details", "reason"],
];

/** The content that fits a member; undefined if none does. */
function contentOf(name: string, schema: Json, context: MemberContext): ErrorContent | undefined {
  // An error in itself, such as one of `details`.
  if ("$ref" in schema) return undefined;
  const types = valueTypes(schema);
  types.delete("null");
  const { enum: values, const: constant, pattern, maxLength, minimum, maximum, format, items } = schema;
  const isFree = [values, constant, pattern, maxLength].every((limit) => limit === undefined);
  if (constant !== undefined) return { constant };
  if (Array.isArray(values) && values.length === 1) return { constant: values[0] };
  if (types.has("boolean") && !types.has("string"))
    return /^(?:success|ok)$/i.test(name) ? { constant: false } : undefined;
  if (types.has("integer") && !types.has("string")) {
    // A pattern is that of a text.
    if (/^status(?:_?code)?$/i.test(name)) return values === undefined ? "status" : undefined;
    const isFit = (maximum === undefined || Number(maximum) >= 60_000) && Number(minimum ?? 0) <= 40_000;
    return isFree && isFit && !types.has("object") ? "code" : undefined;
  }
  if (types.has("string")) return isFree ? textPart(name, format, context.isRequired) : undefined;
  // Where several are described, an error is in one, so optional objects are left out.
  const isWanted = context.isRequired || messageNames.includes(name);
  if (!isWanted || context.depth === depthMax) return undefined;
  if (types.has("array") && isObject(items)) {
    const item = itemOf(name, items, context);
    return item && { items: item };
  }
  const { additionalProperties: each } = schema;
  // The texts of each member of the body, as Rails, Laravel and .NET have them.
  if (types.has("object") && !isObject(schema.properties) && isObject(each)) {
    const holds = contentOf("message", each, { ...context, isRequired: true, depth: context.depth + 1 });
    return holds && { members: [["body", holds]] };
  }
  if (!types.has("object") || !isObject(schema.properties)) return undefined;
  return objectOf(schema, context);
}

function itemOf(name: string, items: Json, context: MemberContext): ErrorContent | undefined {
  const types = valueTypes(items);
  if (types.has("string")) return name === "loc" || name === "path" ? "place" : "message";
  return types.has("object") && isObject(items.properties) ? objectOf(items, context) : undefined;
}

function objectOf(schema: Json, { place, depth }: MemberContext): ErrorContent | undefined {
  return readable(() => ({ members: membersOf(schema, place, depth + 1) }));
}

function textPart(name: string, format: unknown, isRequired: boolean): ErrorPart | undefined {
  if (name === "type" && (format === undefined || String(format).startsWith("uri"))) return "type";
  if (format !== undefined) return undefined;
  if (name === "title") return "title";
  if (/^status(?:_?code)?$/i.test(name)) return "statusText";
  if (name === "code") return "codeText";
  return isRequired || messageNames.includes(name) ? "message" : undefined;
}
