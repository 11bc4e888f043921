// Learns how a server says that an id is taken, since each has its own response.

import { named, plantJson } from "./ids.ts";
import type { HttpResponse } from "./response-parser.ts";

/** How a server responds to another plant with an id that is taken. */
export interface Conflict {
  /** Whether it accepts the other plant, as a mock does, and does not return the stored one. */
  readonly isAccepted: boolean;
  /** Whether a response is a conflict; undefined if an invalid body gets the same. */
  readonly recognize: (response: HttpResponse) => boolean | undefined;
}

interface Server {
  /** An id that no other request has. */
  id(): bigint;
  create(body: string): Promise<HttpResponse>;
}

/** Recognizes a conflict by its status, and its body without numbers. */
export async function learnConflict(server: Server): Promise<Conflict> {
  const id = server.id();
  await server.create(plantJson(id, "Monstera"));
  const conflict = await server.create(plantJson(id, "Ficus"));
  const invalid = await server.create(`{"id":${server.id()},${named}[5]}`);
  const isAlike = textWithoutNumbers(invalid) === textWithoutNumbers(conflict);
  return {
    isAccepted: conflict.status < 300 && textWithoutNumbers(conflict).includes('"Ficus"'),
    recognize: (response) =>
      isAlike ? undefined : textWithoutNumbers(response) === textWithoutNumbers(conflict),
  };
}

/** Without ids, times and durations. */
function textWithoutNumbers({ status, body }: HttpResponse): string {
  return `${status} ${Buffer.from(body)
    .toString("latin1")
    .replaceAll(/-?\d[\d.,]*(?:e[+-]?\d+)?/gi, "#")}`;
}
