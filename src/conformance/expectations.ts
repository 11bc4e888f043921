// The expectations of rules. Each throws a RuleViolation that says what was received.

import { isDeepStrictEqual } from "node:util";
import { gunzipSync } from "node:zlib";
import { groupField, titleField } from "../core/contract/fields.ts";
import { decodeUtf8 } from "../core/contract/utf8.ts";
import { otherValues } from "./ids.ts";
import { type HttpResponse, headerOf } from "./response-parser.ts";
import { RuleViolation } from "./rule-ends.ts";

export interface PlantFields {
  readonly name: string;
  readonly tag?: string | undefined;
}

/** Limits compressed bodies: a kilobyte may contain a megabyte. */
const decodedBytesMax = 2 ** 24;

export interface ErrorFields {
  readonly error: number;
  readonly message: string;
}

export function expectThat(condition: boolean, message: string): asserts condition {
  if (!condition) throw new RuleViolation(message);
}

export function expectStatus(response: HttpResponse, ...statuses: readonly number[]): void {
  expectThat(
    statuses.includes(response.status),
    `expected the status ${statuses.join(" or ")}, received ${response.status}`,
  );
}

export function expectPlant(response: HttpResponse, { name, tag }: PlantFields): void {
  expectAccepted(response);
  expectStatus(response, 200);
  const body = parseObject(response);
  expectMember(body, titleField, name);
  for (const [field, value] of otherValues) expectMember(body, field, value);
  if (groupField !== undefined) expectMember(body, groupField, tag);
}

function expectMember(body: Readonly<Record<string, unknown>>, field: string, value: unknown): void {
  expectThat(
    isDeepStrictEqual(body[field], value),
    value === undefined
      ? `expected no ${field}, received ${shorten(body[field])}`
      : `expected the ${field} ${shorten(value)}, received ${shorten(body[field])}`,
  );
}

/** An Error with this status, and, if one is given, this code. */
export function expectError(response: HttpResponse, status: number, error?: number): ErrorFields {
  if (response.status < 400) expectClientError(response);
  expectStatus(response, status);
  const fields = expectErrorBody(response);
  if (error !== undefined)
    expectThat(fields.error === error, `expected the error ${error}, received ${fields.error}`);
  return fields;
}

/** The Error of a response: `error`, an int32, and `message`, a string. */
export function expectErrorBody(response: HttpResponse): ErrorFields {
  const { error, message } = parseObject(response);
  expectThat(
    typeof error === "number" && error === (error | 0),
    `expected the member "error" to be an integer (int32), received ${shorten(error)}`,
  );
  expectThat(
    typeof message === "string",
    `expected the member "message" to be a string, received ${shorten(message)}`,
  );
  return { error, message };
}

/** The start of the message for a request that was rejected. */
export const rejectedMessage = "expected the request to be accepted";

export function expectAccepted({ status }: HttpResponse): void {
  expectThat(status >= 200 && status < 300, `${rejectedMessage}, received the status ${status}`);
}

export function expectClientError(response: HttpResponse): void {
  expectThat(
    response.status >= 400 && response.status < 500,
    `expected the request to be rejected with 4xx, received the status ${response.status}`,
  );
}

/** The JSON object that a response is. */
export function parseObject(response: HttpResponse): Readonly<Record<string, unknown>> {
  const text = textOf(response);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RuleViolation(
      text === "" ? "the response has no body" : `the body of the response is not JSON: ${shorten(text)}`,
    );
  }
  expectThat(
    typeof value === "object" && value !== null && !Array.isArray(value),
    `expected a JSON object, received ${shorten(value)}`,
  );
  return value as Readonly<Record<string, unknown>>;
}

/** The body of a response as text, without its content coding. */
function textOf(response: HttpResponse): string {
  const coding = headerOf(response, "content-encoding") ?? "identity";
  let { body } = response;
  if (/^(?:x-)?gzip$/i.test(coding)) {
    try {
      body = gunzipSync(body, { maxOutputLength: decodedBytesMax });
    } catch {
      throw new RuleViolation("the body of the response is not gzip, although its Content-Encoding says so");
    }
  } else expectThat(/^identity$/i.test(coding), `expected no Content-Encoding, received ${shorten(coding)}`);
  const text = decodeUtf8(body, "kept");
  expectThat(text !== undefined, "the body of the response is not UTF-8");
  return text;
}

export function expectHeader(response: HttpResponse, name: string, pattern: RegExp): string {
  const value = headerOf(response, name);
  expectThat(value !== undefined, `expected the header field ${name}`);
  expectThat(pattern.test(value), `expected ${name} to match ${pattern}, received ${shorten(value)}`);
  return value;
}

/** A value as JSON, at most a line long. */
export function shorten(value: unknown): string {
  if (value === undefined) return "none";
  try {
    const text = JSON.stringify(value);
    return text.length > 100 ? `${text.slice(0, 100)}…` : text;
  } catch {
    // JSON.parse reads deeper nesting than JSON.stringify writes.
    return "a deeply nested value";
  }
}
