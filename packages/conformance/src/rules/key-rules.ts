// Checks contracts whose ids the server chooses: each create is another plant, and a retry with the
// same Idempotency-Key is the same one.

import type { Contents } from "../requests/contents.ts";
import { createdId, expectClientError, expectThat, textOf } from "../requests/expectations.ts";
import type { RuleContext } from "../requests/rule-context.ts";
import { byContract, byDecision, type ConformanceRule, decision, placesIn, rulesOf } from "./rule.ts";

/** Enough races to hit a gap of 20 µs between a check and an insert. */
const raceRequests = 20;

const keyed = decision("`Idempotency-Key`");

/** A key that no other request has. */
const newKey = (check: RuleContext) => `conformance-${check.id()}`;

export function keyRules(contents: Contents): readonly ConformanceRule[] {
  const { operation, success } = placesIn(contents);
  const applies = !contents.sendsIds;
  const withKey = (key: string) => ({ "Idempotency-Key": key });
  return rulesOf(contents, "idempotence", {
    "new-id-each": {
      applies: applies && !contents.collection.requiresKey,
      title: "Two creates without a key are two plants.",
      required: byContract(operation, success),
      run: async (check) => {
        const ids = new Set<string>();
        for (let time = 0; time < 5; time++) ids.add(createdId(contents, await check.create(check.plant())));
        expectThat(ids.size === 5, `expected 5 ids, received ${ids.size} different ones`);
      },
    },
    "same-key": {
      applies,
      title: "The same plant with the same Idempotency-Key gets the same response again.",
      required: byDecision(keyed),
      run: async (check) => {
        const key = newKey(check);
        const body = check.plant("Monstera", "tropical");
        const first = await check.create(body, withKey(key));
        const id = createdId(contents, first);
        for (let time = 0; time < 3; time++) {
          const again = await check.create(body, withKey(key));
          const received = createdId(contents, again);
          expectThat(received === id, `expected the id ${id} again, received ${received}`);
          expectThat(textOf(again) === textOf(first), "expected the same body again");
        }
        const other = createdId(contents, await check.create(body, withKey(newKey(check))));
        expectThat(other !== id, "another key gets the same id");
      },
    },
    "key-of-another": {
      applies,
      title: "Another plant with an Idempotency-Key that was used is rejected.",
      required: byDecision(keyed),
      run: async (check) => {
        const key = newKey(check);
        createdId(contents, await check.create(check.plant("Monstera"), withKey(key)));
        expectClientError(await check.create(check.plant("Ficus"), withKey(key)));
      },
    },
    "key-required": {
      applies: applies && contents.collection.requiresKey,
      title: "A create without the Idempotency-Key that the contract requires is rejected.",
      required: byContract(`${operation}.parameters`),
      run: async (check) => expectClientError(await check.create(check.plant(), { "Idempotency-Key": null })),
    },
    "key-race": {
      applies,
      title: "Concurrent creates of the same plant with one Idempotency-Key are one plant.",
      required: byDecision(keyed),
      run: async (check) => {
        const headers = withKey(newKey(check));
        const body = check.plant("Monstera", "tropical");
        const responses = await check.together(
          Array.from({ length: raceRequests }, () => body),
          headers,
        );
        const ids = new Set(responses.map((response) => createdId(contents, response)));
        expectThat(ids.size === 1, `one key has ${ids.size} ids`);
      },
    },
  });
}
