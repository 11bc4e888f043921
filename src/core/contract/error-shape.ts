// How errors are written: in the shape that the contract describes, or else in that of the Plant
// Store.

import { type ApiError, errorRegistry } from "./errors.ts";
import { isObject, type Json, propertiesOf, requiredOf } from "./schema/schemas.ts";

/** The content of a member of an error. */
export type ErrorPart = "code" | "codeText" | "message" | "status" | "title" | "type";

/** Plain data, which crosses threads. */
export interface ErrorShape {
  /** application/json, or application/problem+json (RFC 9457). */
  readonly contentType: string;
  /** The members in their order, with what they hold. */
  readonly members: readonly (readonly [name: string, holds: ErrorPart])[];
  /** The schema as the description has it; undefined for the shape of the Plant Store. */
  readonly schema?: Json;
}

export const ownErrorShape: ErrorShape = {
  contentType: "application/json",
  members: [
    ["error", "code"],
    ["message", "message"],
  ],
};

/**
 * The members of an error, as a client receives them.
 *
 * @param code the HTTP status times 100 plus a detail.
 * @param title what errors with the code have in common.
 */
export function errorMembers(
  { members }: ErrorShape,
  { code, title, message }: { readonly code: number; readonly title: string; readonly message: string },
): Record<string, string | number> {
  const parts: Readonly<Record<ErrorPart, string | number>> = {
    code,
    codeText: String(code),
    message,
    status: Math.trunc(code / 100),
    title,
    // It identifies the problem (RFC 9457, section 3.1.1), and leads to no page.
    type: `urn:plantstore:error:${code}`,
  };
  return Object.fromEntries(members.map(([name, holds]) => [name, parts[holds]]));
}

/** The members of an error of the registry. */
export function apiErrorMembers(
  shape: ErrorShape,
  { code, message }: Pick<ApiError, "code" | "message">,
): Record<string, string | number> {
  const { error, meaning } = errorRegistry[code];
  return errorMembers(shape, { code: error, title: meaning, message });
}

/** Whether two shapes write the same errors. */
export function isSameShape(one: ErrorShape, other: ErrorShape): boolean {
  const of = ({ contentType, members }: ErrorShape) => JSON.stringify([contentType, members]);
  return of(one) === of(other);
}

/**
 * The shape of a described error, or the name of a required member that nothing fits.
 *
 * @param schema with its references replaced.
 * @param described the same as the description has it.
 */
export function errorShapeOf(schema: Json, contentType: string, described: Json): ErrorShape | string {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const members: [string, ErrorPart][] = [];
  for (const [name, property] of Object.entries(properties)) {
    const holds = isObject(property) ? partOf(name, property, required.includes(name)) : undefined;
    if (holds !== undefined) members.push([name, holds]);
    else if (required.includes(name)) return name;
  }
  const undescribed = required.find((name) => !Object.hasOwn(properties, String(name)));
  if (undescribed !== undefined) return String(undescribed);
  // An error that says nothing is of no use.
  if (!members.some(([, holds]) => holds === "message")) return "message";
  const isProblem = /^application\/problem\+json\b/i.test(contentType);
  return {
    contentType: isProblem ? "application/problem+json" : "application/json",
    members,
    schema: described,
  };
}

/** Names of texts that hold the message also where they are optional. */
const messageNames = ["message", "detail", "error", "error_description", "description"];

function partOf(
  name: string,
  { type, enum: values, pattern, maxLength, minimum, maximum, format }: Json,
  isRequired: boolean,
): ErrorPart | undefined {
  if (values !== undefined || pattern !== undefined || maxLength !== undefined) return undefined;
  if (type === "integer" || type === "number") {
    if (name === "status" || name === "statusCode") return "status";
    const isFit = (maximum === undefined || Number(maximum) >= 60_000) && Number(minimum ?? 0) <= 40_000;
    return isFit ? "code" : undefined;
  }
  if (type !== "string") return undefined;
  if (name === "type" && (format === undefined || String(format).startsWith("uri"))) return "type";
  if (format !== undefined) return undefined;
  if (name === "title") return "title";
  if (name === "code") return "codeText";
  return isRequired || messageNames.includes(name) ? "message" : undefined;
}
