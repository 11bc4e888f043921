// Learns how a server says that an id is taken, since each has its own response.

import type { Contents } from "./contents.ts";
import { parseObject } from "./expectations.ts";
import type { HttpResponse } from "./response-parser.ts";
import { RuleViolation } from "./rule-ends.ts";

/** How a server responds to another plant with an id that is taken. */
export interface Conflict {
  /** Whether it accepts the other plant, as a mock does, and does not return the stored one. */
  readonly isAccepted: boolean;
  /** Whether a response is a conflict; undefined if an invalid body gets the same. */
  readonly recognize: (response: HttpResponse) => boolean | undefined;
}

interface Server {
  readonly contents: Contents;
  /** An id that no other request has. */
  id(): bigint;
  create(body: string): Promise<HttpResponse>;
}

/** Recognizes a conflict by its status, and its body without numbers. */
export async function learnConflict(server: Server): Promise<Conflict> {
  const { contents } = server;
  const id = server.id();
  await server.create(contents.plantJson(id, "Monstera"));
  const conflict = await server.create(contents.plantJson(id, "Ficus"));
  const invalid = await server.create(
    contents.isWrong(contents.title, "[5]") ? contents.plantTitled("[5]", server.id()) : "[]",
  );
  const isAlike = textWithoutNumbers(invalid) === textWithoutNumbers(conflict);
  return {
    isAccepted: conflict.status < 300 && isPlant(contents, conflict, "Ficus"),
    recognize: (response) =>
      isAlike ? undefined : textWithoutNumbers(response) === textWithoutNumbers(conflict),
  };
}

function isPlant(contents: Contents, response: HttpResponse, name: string): boolean {
  try {
    return contents.contract.returnsBody && contents.hasTitle(parseObject(response), name);
  } catch (error) {
    if (error instanceof RuleViolation) return false;
    throw error;
  }
}

/** Without ids, times and durations. */
function textWithoutNumbers({ status, body }: HttpResponse): string {
  return `${status} ${Buffer.from(body)
    .toString("latin1")
    .replaceAll(/-?\d[\d.,]*(?:e[+-]?\d+)?/gi, "#")}`;
}
