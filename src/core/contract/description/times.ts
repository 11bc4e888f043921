// The properties of a response that are the times of a resource, by their usual names.

import type { Json } from "../json/json-values.ts";
import { valueTypes } from "./field-type.ts";

/** Whether a property of a response is the time of creation. */
export function isCreationTime(name: string, schema: Json): boolean {
  return isTime(schema) && /^(?:created|date_?created)(?:_?(?:at|on|date|time))?$/i.test(name);
}

/** Whether a property of a response is the time of the last change. */
export function isChangeTime(name: string, schema: Json): boolean {
  return isTime(schema) && /^(?:last_?)?(?:updated|modified)(?:_?(?:at|on|date|time))?$/i.test(name);
}

function isTime(schema: Json): boolean {
  return schema.format === "date-time" && valueTypes(schema).has("string");
}
