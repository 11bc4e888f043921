// Compares responses with what rules expect, and throws a RuleViolation that says what was
// received.

import { isDeepStrictEqual } from "node:util";
import { type ErrorCode, errorRegistry } from "../../../../src/base/errors.ts";
import { type ErrorFormat, type ErrorShape, formOf, partsOf } from "../../../../src/contract/error-format.ts";
import { isDeeper, isObject } from "../../../../src/json/json-values.ts";
import { decodeUtf8 } from "../../../../src/json/utf8.ts";
import { escapeCharacter } from "../failures/transcript-text.ts";
import type { HttpResponse } from "../wire/exchange.ts";
import { PlantViolation, RuleViolation } from "../wire/rule-ends.ts";
import type { Contents } from "./contents.ts";

export interface PlantFields {
  readonly name: string;
  readonly tag?: string | undefined;
}

export interface ErrorFields {
  /** Undefined where the contract's errors have no code. */
  readonly error: number | undefined;
  readonly message: string;
}

export function expectThat(condition: boolean, message: string): asserts condition {
  if (!condition) throw new RuleViolation(message);
}

export function expectStatus(response: HttpResponse, status: number): void {
  expectThat(response.status === status, `expected the status ${status}, received ${response.status}`);
}

/** A response that accepts a plant, and returns it. */
export function expectPlant(
  contents: Contents,
  response: HttpResponse,
  { name, tag }: PlantFields,
  rejected?: string,
): void {
  const kind = `${tag === undefined ? "without" : "with"} a tag`;
  asFault(`rejected ${kind}`, () => expectAccepted(response, rejected));
  asFault(`altered ${kind}`, () => expectMembers(contents, response, contents.expectedMembers(name, tag)));
}

/** Turns a violation of an expectation into a fault of plants. */
function asFault(fault: string, expect: () => void): void {
  try {
    expect();
  } catch (error) {
    throw error instanceof RuleViolation ? new PlantViolation(error.message, fault) : error;
  }
}

/** A response that accepts a plant, and returns these members. */
export function expectMembers(
  contents: Contents,
  response: HttpResponse,
  members: ReadonlyMap<string, unknown>,
): void {
  expectAccepted(response);
  if (contents.created === undefined) return;
  const body = plantOf(contents, response);
  for (const [name, value] of members) {
    const received = body[name];
    const expected = value === undefined ? `no ${name}` : `the ${name} ${withCodePoints(value)}`;
    expectThat(
      isDeepStrictEqual(received, value),
      `expected ${expected}, received ${withCodePoints(received)}`,
    );
  }
}

/**
 * The id of a response, where the contract has one: that of the body, or one that the server has
 * chosen.
 */
export function expectReturnedId(contents: Contents, response: HttpResponse, id: bigint): void {
  const { collection, created, sendsIds } = contents;
  if (created?.hasId !== true) return;
  const returned = contents.idOf(textOf(response));
  const expected = contents.idOfNumber(id);
  if (sendsIds)
    expectThat(returned === expected, `expected the id ${expected}, received ${returned ?? "none"}`);
  else
    expectThat(returned !== undefined, `expected ${collection.id.name} to be ${collection.id.type.expected}`);
}

/**
 * The id of what a create has made, as a segment of a path: that of the body, or else the end of
 * its Location.
 */
export function createdId(contents: Contents, response: HttpResponse): string {
  expectAccepted(response);
  const id = contents.created?.hasId ? contents.idOf(textOf(response)) : undefined;
  const located = /\/([^/?#]+)$/.exec(response.headers.location ?? "")?.[1];
  const found = id === undefined ? located : encodeURIComponent(String(id));
  expectThat(found !== undefined, "expected the id in the body, or at the end of a Location");
  return found;
}

/** Texts that differ may look alike. */
function withCodePoints(text: unknown): string {
  return shorten(text).replaceAll(/[^ -~]/gu, escapeCharacter);
}

/** An Error with the status of a code, and with the code itself if the contract's errors have codes. */
export function expectError(contents: Contents, response: HttpResponse, code: ErrorCode): ErrorFields {
  const { error } = errorRegistry[code];
  if (response.status < 400) expectClientError(response);
  const [status, ...others] = [...new Set(formatsOf(contents).map((format) => formOf(format, code).status))];
  if (!others.includes(response.status)) expectStatus(response, status as number);
  const fields = expectErrorBody(contents, response);
  if (fields.error !== undefined)
    expectThat(fields.error === error, `expected the error ${error}, received ${fields.error}`);
  return fields;
}

/** How the contract writes errors: as most operations, and as each of them. */
function formatsOf({ contract: { errors }, collection: { operations } }: Contents): readonly ErrorFormat[] {
  return [operations.create.errors, errors, ...Object.values(operations).map((each) => each.errors)];
}

/** The shape of the contract for an error: of several the one whose members it has. */
export function errorShapeOf(contents: Contents, response: HttpResponse): ErrorShape {
  const shapes = formatsOf(contents).map(({ shape, shapes }) => shapes[response.status] ?? shape);
  const names = Object.keys(parseObject(response)).toSorted().join();
  const named = ({ members }: ErrorShape) =>
    members
      .map(([name]) => name)
      .toSorted()
      .join();
  return shapes.find((shape) => named(shape) === names) ?? (shapes[0] as ErrorShape);
}

/** The Error of a response, with all parts of the shape of the contract. */
export function expectErrorBody(contents: Contents, response: HttpResponse): ErrorFields {
  const found: { error: number | undefined; message: string } = { error: undefined, message: "" };
  const body: unknown = parseObject(response);
  for (const [path, part] of partsOf(errorShapeOf(contents, response))) {
    const value = path.reduce((at, name) => Object(at)[name], body);
    const member = path.join(".");
    const isNumber = part === "code" || part === "status";
    expectThat(
      isNumber ? typeof value === "number" && value === (value | 0) : typeof value === "string",
      `expected the member "${member}" to be ${isNumber ? "an integer (int32)" : "a string"}, received ${shorten(value)}`,
    );
    if (part === "status")
      expectThat(
        value === response.status,
        `expected "${member}" to be ${response.status}, received ${value}`,
      );
    if (part === "code") found.error = value as number;
    if (part === "message") found.message = value as string;
  }
  return found;
}

/** @param rejected what it means if the request is rejected. */
export function expectAccepted({ status }: HttpResponse, rejected = "a valid request is rejected"): void {
  expectThat(status >= 200 && status < 300, `${rejected}: received the status ${status}`);
}

export function expectClientError({ status }: HttpResponse): void {
  expectThat(
    status >= 400 && status < 500,
    status < 300
      ? `a request that must be rejected is accepted: received the status ${status}`
      : `expected the request to be rejected with 4xx, received the status ${status}`,
  );
}

/** A media type of JSON. */
export function expectJsonType(response: HttpResponse, type = "application/json"): void {
  const value = expectHeader(response, "Content-Type", /./);
  const [received = ""] = value.split(";");
  expectThat(
    received.trim().toLowerCase() === type.toLowerCase(),
    `expected the Content-Type ${type}, received ${shorten(value)}`,
  );
  expectUtf8(response);
}

/** No charset that contradicts JSON's only one. */
export function expectUtf8(response: HttpResponse): void {
  const value = response.headers["content-type"] ?? "";
  const [, charset = "utf-8"] = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(value) ?? [];
  expectThat(/^utf-?8$/i.test(charset), `expected JSON in UTF-8, received ${value}`);
}

/** The resource of a response, which may be in a member of its body. */
export function plantOf(contents: Contents, response: HttpResponse): Readonly<Record<string, unknown>> {
  const body = parseObject(response);
  const inner = contents.wrappers.map((path) =>
    path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), body),
  );
  // Like the body, without what every object inherits.
  return Object.setPrototypeOf(inner.find(isObject) ?? body, null);
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
  // A member that is absent must not be one that every object inherits, such as "constructor".
  return Object.setPrototypeOf(value, null);
}

export function textOf(response: HttpResponse): string {
  const coding = response.headers["content-encoding"] ?? "identity";
  expectThat(/^identity$/i.test(coding), `expected no Content-Encoding, received ${shorten(coding)}`);
  const text = decodeUtf8(response.body, "kept");
  expectThat(text !== undefined, "the body of the response is not UTF-8");
  return text;
}

export function expectHeader(response: HttpResponse, name: string, pattern: RegExp): string {
  const value = response.headers[name.toLowerCase()];
  expectThat(typeof value === "string", `expected the header field ${name}`);
  expectThat(pattern.test(value), `expected ${name} to match ${pattern}, received ${shorten(value)}`);
  return value;
}

/** A value as JSON, at most a line long. */
export function shorten(value: unknown): string {
  if (value === undefined) return "none";
  if (isDeeper(value, levelsMax)) return "a deeply nested value";
  const text = JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/** Levels of a value that a report shows. */
const levelsMax = 1_000;
