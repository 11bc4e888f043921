// Makes rules of every response of a run, and sends requests that get responses of each kind.

import type { RuleContext } from "../requests/rule-context.ts";
import type { HttpResponse, RequestParts } from "../wire/exchange.ts";
import { RuleViolation } from "../wire/rule-ends.ts";
import type { ConformanceRule } from "./rule.ts";

/** Requests that get a Plant, or an error. */
function requestsOfEachKind(check: RuleContext): Readonly<Record<string, RequestParts>> {
  return {
    "a create": { body: check.plant("Monstera", "tropical") },
    "not JSON": { body: "{" },
    "not a NewPlant": { body: "{}" },
    "no token": { body: "{}", headers: check.contents.credentials(null) },
    "an unknown token": { body: "{}", headers: check.contents.credentials("unknown") },
    "an unknown path": { path: `${check.contents.collection.path}/unknown/path`, body: "{}" },
    // A service that has more operations than this one has no PATCH of the collection.
    "another method": { method: "PATCH" },
    "another media type": { body: "{}", headers: { "Content-Type": "text/plain" } },
  };
}

/** Sends requests of each kind. */
async function provokeResponses(check: RuleContext): Promise<void> {
  for (const parts of Object.values(requestsOfEachKind(check)))
    await check.send(parts).catch((error) => {
      // A missing response is not a fault of a response.
      if (!(error instanceof RuleViolation)) throw error;
    });
}

/** A rule of those responses of a run that it concerns. */
export function ofEveryResponse(
  concerns: (response: HttpResponse, request: RequestParts) => boolean,
  expect: (response: HttpResponse, request: RequestParts) => void,
): Pick<ConformanceRule, "run" | "every"> {
  return { every: { concerns, expect }, run: provokeResponses };
}
