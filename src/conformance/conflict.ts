// Learns how a server says that an id is taken, since each has its own response.

import { titleField } from "../core/contract/fields.ts";
import { parseObject, shorten } from "./expectations.ts";
import { named, plantJson } from "./ids.ts";
import type { HttpResponse } from "./response-parser.ts";
import { RuleViolation } from "./rule-ends.ts";

/** How a server responds to another plant with an id that is taken. */
export interface Conflict {
  /** Whether it accepts the other plant, as a mock does. */
  readonly isAccepted: boolean;
  /** Recognizes the response; undefined if it is also that to an invalid body. */
  readonly recognize: ((response: HttpResponse) => boolean) | undefined;
}

interface Server {
  /** An id that no other request has. */
  id(): bigint;
  create(body: string): Promise<HttpResponse>;
}

/** Recognizes a conflict by its text without numbers, or else by its status and code. */
export async function learnConflict(server: Server): Promise<Conflict> {
  const conflicts: HttpResponse[] = [];
  for (const name of ["Ficus", "Aloe"]) {
    const id = server.id();
    const first = await server.create(plantJson(id, "Monstera"));
    const conflict = await server.create(plantJson(id, name));
    if (first.status >= 300) return { isAccepted: false, recognize: undefined };
    if (conflict.status < 400) return { isAccepted: isPlant(conflict, name), recognize: () => false };
    conflicts.push(conflict);
  }
  const invalid = [
    await server.create(`{"id":${server.id()},${named}[5]}`),
    await server.create(`{"id":[${server.id()},${server.id()}],${named}"Monstera"}`),
    await createAgain(server, "{}"),
  ];
  for (const describe of [textWithoutNumbers, outlineOf]) {
    const [conflict, other] = conflicts.map(describe);
    if (conflict === other && !invalid.some((each) => describe(each) === conflict))
      return { isAccepted: false, recognize: (response) => describe(response) === conflict };
  }
  return { isAccepted: false, recognize: undefined };
}

/**
 * Sends a body twice, and returns the second response: by then an id that the server makes of it is
 * taken, so that every run gets the same response.
 */
export async function createAgain(server: Server, body: string): Promise<HttpResponse> {
  await server.create(body);
  return server.create(body);
}

function isPlant(response: HttpResponse, name: string): boolean {
  return response.status < 300 && objectOf(response)?.[titleField] === name;
}

/** The status and code of a response, by which it is recognized. */
function outlineOf(response: HttpResponse): string {
  const object = objectOf(response);
  return object === undefined ? String(response.status) : `${response.status} ${shorten(object.error)}`;
}

function objectOf(response: HttpResponse): Readonly<Record<string, unknown>> | undefined {
  try {
    return parseObject(response);
  } catch (error) {
    if (error instanceof RuleViolation) return undefined;
    throw error;
  }
}

/**
 * The status, code and body of a response, without the numbers in the body: ids, times, durations.
 */
function textWithoutNumbers(response: HttpResponse): string {
  const text = Buffer.from(response.body).toString("latin1");
  return `${outlineOf(response)} ${text.replace(/-?\d[\d.,]*(?:e[+-]?\d+)?/gi, "#")}`;
}
