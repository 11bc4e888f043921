// Checks PUT and PATCH: a plant that was replaced or changed is got as it is now, and a change with
// a condition that does not hold is not made.

import { isDeepStrictEqual } from "node:util";
import type { Contents } from "../requests/contents.ts";
import {
  createdId,
  expectAccepted,
  expectHeader,
  expectStatus,
  expectThat,
  plantOf,
  shorten,
  textOf,
} from "../requests/expectations.ts";
import type { RuleContext } from "../requests/rule-context.ts";
import type { HttpResponse } from "../wire/exchange.ts";
import { getById, ifUnchanged, itemPlace, sendOperation } from "./operation-rules.ts";
import { byContract, byDecision, type ConformanceRule, decision, rfc, rulesOf } from "./rule.ts";

type Members = Readonly<Record<string, unknown>>;

const conditional = decision("`ETag`, `If-Match`, `If-None-Match`");

export function editRules(contents: Contents): readonly ConformanceRule[] {
  const { collection, title, group } = contents;
  const { replace, change, get } = collection.operations;
  const put = (check: RuleContext, id: string, body: string, headers = {}) =>
    sendOperation(check, "replace", `/${id}`, { body, headers });
  const patch = async (check: RuleContext, id: string, body: string) =>
    sendOperation(check, "change", `/${id}`, {
      body: contents.wrapped(body, change?.body),
      headers: await ifUnchanged(check, id),
    });
  /** Creates a plant, and makes the body that replaces it. */
  const created = async (check: RuleContext) => {
    const number = check.id();
    const body = (name: string) => contents.plantJson(number, name, "tropical");
    return { id: createdId(contents, await check.create(body("Monstera"))), body };
  };
  const expectTitle = (response: HttpResponse, name: string) => {
    expectStatus(response, 200);
    expectThat(
      contents.hasTitle(plantOf(contents, response), name),
      `expected the ${title.name} ${JSON.stringify(name)}, received ${shorten(textOf(response))}`,
    );
  };
  /** A change leaves the members that it does not have, but for the time of the change. */
  const expectOthersKept = (before: Members, after: Members) => {
    const { updatedName } = contents.created ?? {};
    for (const [name, value] of Object.entries(before))
      if (name !== title.name && name !== updatedName)
        expectThat(
          isDeepStrictEqual(after[name], value),
          `expected the ${name} as it was, ${shorten(value)}, received ${shorten(after[name])}`,
        );
  };
  const isVisible = get !== undefined && contents.isReturned(title);
  const removable =
    group !== undefined && contents.isReturned(group) && change?.body.members.includes(group.name)
      ? group
      : undefined;
  return rulesOf(contents, "contract", {
    replace: {
      applies: isVisible && replace !== undefined,
      title: "A plant that was replaced is got as it is now.",
      required: byContract(itemPlace(contents, "replace")),
      run: async (check) => {
        const { id, body } = await created(check);
        expectAccepted(await put(check, id, body("Ficus"), await ifUnchanged(check, id)));
        expectTitle(await getById(check, id), "Ficus");
      },
    },
    "replace-creates": {
      applies: isVisible && replace?.successes[201] !== undefined,
      title: "A PUT of a plant that is not there creates it, with 201.",
      required: byContract(`${itemPlace(contents, "replace")}.responses.201`),
      run: async (check) => {
        const number = check.id();
        const id = encodeURIComponent(String(contents.idOfNumber(number)));
        expectStatus(await put(check, id, contents.plantJson(number, "Ficus")), 201);
        expectTitle(await getById(check, id), "Ficus");
      },
    },
    change: {
      applies: isVisible && change?.body.members.includes(title.name) === true,
      title: "A merge patch changes the members that it has, and removes those that are null.",
      required: byContract(itemPlace(contents, "change"), rfc(7396, "2")),
      run: async (check) => {
        const full = contents.fullPlant(check.id());
        const id = createdId(contents, await check.create(full.body));
        const before = plantOf(contents, await getById(check, id));
        expectAccepted(await patch(check, id, `{${title.jsonName}${contents.titleJson("Ficus")}}`));
        const changed = await getById(check, id);
        expectTitle(changed, "Ficus");
        expectOthersKept(before, plantOf(contents, changed));
        if (removable === undefined) return;
        const groupOf = (response: HttpResponse) => plantOf(contents, response)[removable.name];
        expectAccepted(await patch(check, id, `{${removable.jsonName}null}`));
        const removed = groupOf(await getById(check, id));
        expectThat(
          removed === undefined || removed === null,
          `expected no ${removable.name}, received ${shorten(removed)}`,
        );
      },
    },
    "edit-conditions": {
      applies: isVisible && replace !== undefined,
      title: "A PUT with the ETag of an earlier content gets 412, and replaces nothing.",
      required: byDecision(conditional, rfc(9110, "13.1.1")),
      run: async (check) => {
        const { id, body } = await created(check);
        const etag = expectHeader(await getById(check, id), "ETag", /^"[^"]*"$/);
        expectAccepted(await put(check, id, body("Ficus"), { "If-Match": etag }));
        expectStatus(await put(check, id, body("Monstera"), { "If-Match": etag }), 412);
        const none = { ...(await ifUnchanged(check, id)), "If-None-Match": "*" };
        expectStatus(await put(check, id, body("Monstera"), none), 412);
        expectTitle(await getById(check, id), "Ficus");
      },
    },
  });
}
