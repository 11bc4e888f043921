// Learns how a server says that an id is taken, since each has its own response.

import type { HttpResponse } from "../wire/exchange.ts";
import { RuleViolation } from "../wire/rule-ends.ts";
import type { Contents } from "./contents.ts";
import { plantOf } from "./expectations.ts";
import type { Conflict } from "./run-state.ts";
import type { TestClient } from "./test-client.ts";

/** Recognizes a conflict by its status, and its body without numbers. */
export async function learnConflict(client: TestClient): Promise<Conflict> {
  const { contents } = client;
  const id = client.id();
  await client.create(contents.plantJson(id, "Monstera"));
  const conflict = await client.create(contents.plantJson(id, "Ficus"));
  const invalid = await client.create(
    contents.isWrong(contents.title, "[5]") ? contents.plantTitled("[5]", client.id()) : "[]",
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
    return contents.created !== undefined && contents.hasTitle(plantOf(contents, response), name);
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
