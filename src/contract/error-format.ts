// Writes errors: in the shapes and with the statuses that the contract describes, or else in
// the shape of the Plant Store.

import { type ApiError, type ErrorCode, entryOf, statusOf } from "../base/errors.ts";
import type { Json } from "../json/json-values.ts";

/** The content of a member of an error. `place` is where the error is: the body. */
export type ErrorPart =
  | ("code" | "codeText" | "message" | "status" | "statusText" | "title" | "type")
  | "place";

/** A member's content: a part, or other members or a part in an object or an array, or always the same. */
export type ErrorContent =
  | ErrorPart
  | { readonly members: ErrorMembers }
  | { readonly items: ErrorContent }
  | { readonly constant: unknown };

/** The members of an object in their order, with what they hold. */
export type ErrorMembers = readonly (readonly [name: string, holds: ErrorContent])[];

/** Plain data, which crosses threads. */
export interface ErrorShape {
  /** application/json, or application/problem+json (RFC 9457). */
  readonly contentType: string;
  readonly members: ErrorMembers;
  /** The schema as the description has it; undefined for the shape of the Plant Store. */
  readonly schema?: Json;
}

/** How the errors of an operation are written. */
export interface ErrorFormat {
  readonly shape: ErrorShape;
  /** The shapes of statuses that are described in another one. */
  readonly shapes: Readonly<Record<number, ErrorShape>>;
  /** The statuses of errors that differ from those of their codes. */
  readonly statuses: Partial<Readonly<Record<ErrorCode, number>>>;
}

export const ownErrorShape: ErrorShape = {
  contentType: "application/json",
  members: [
    ["error", "code"],
    ["message", "message"],
  ],
};

/** The status of an error, and its shape. */
export function formOf(
  { shape, shapes, statuses }: ErrorFormat,
  code: ApiError["code"],
): { readonly status: number; readonly shape: ErrorShape } {
  const status = (typeof code === "string" ? statuses[code] : undefined) ?? statusOf(code);
  return { status, shape: shapes[status] ?? shape };
}

/**
 * The members of an error, as a client receives them.
 *
 * @param code the HTTP status times 100 plus a detail.
 * @param title what errors with the code have in common.
 */
export function errorMembers(
  { members }: ErrorShape,
  error: {
    readonly code: number;
    readonly status: number;
    readonly title: string;
    readonly message: string;
  },
): Json {
  const { code, status, title, message } = error;
  const parts: Readonly<Record<ErrorPart, unknown>> = {
    code,
    codeText: String(code),
    message,
    status,
    statusText: String(status),
    title,
    // It identifies the problem (RFC 9457, section 3.1.1), and leads to no page.
    type: `urn:plantstore:error:${code}`,
    place: "body",
  };
  const contentOf = (holds: ErrorContent): unknown => {
    if (typeof holds === "string") return parts[holds];
    if ("constant" in holds) return holds.constant;
    return "items" in holds ? [contentOf(holds.items)] : objectOf(holds.members);
  };
  const objectOf = (all: ErrorMembers) =>
    Object.fromEntries(all.map(([name, holds]) => [name, contentOf(holds)]));
  return objectOf(members);
}

/** The members of an error of the registry. */
export function apiErrorMembers(
  format: ErrorFormat,
  { code, message }: Pick<ApiError, "code" | "message">,
): Json {
  const { error, meaning } = entryOf(code);
  const { shape, status } = formOf(format, code);
  return errorMembers(shape, { code: error, status, title: meaning, message });
}

/** The parts of an error, each with the names of the members and indexes that lead to it. */
export function partsOf({ members }: Pick<ErrorShape, "members">): [path: string[], part: ErrorPart][] {
  return members.flatMap(([name, holds]) => {
    let content = holds;
    const path = [name];
    while (typeof content === "object" && "items" in content) {
      content = content.items;
      path.push("0");
    }
    if (typeof content === "string") return [[path, content] as [string[], ErrorPart]];
    if ("constant" in content) return [];
    return partsOf(content).map(([below, part]): [string[], ErrorPart] => [[...path, ...below], part]);
  });
}

/** The names that lead to a part of an error; undefined if there is none. */
export function pathOfPart(shape: Pick<ErrorShape, "members">, wanted: ErrorPart): string[] | undefined {
  return partsOf(shape).find(([, part]) => part === wanted)?.[0];
}
