// Checks ids that are texts: each is what was sent, to the last byte.

import type { Contents } from "../requests/contents.ts";
import { createdId, expectStatus, expectThat, plantOf, textOf } from "../requests/expectations.ts";
import type { RuleContext } from "../requests/rule-context.ts";
import { getById } from "./operation-rules.ts";
import { byDecision, decision, type Rule, rfc, rulesOf } from "./rule.ts";

const textIdDecision = decision("An id that is a text");

export function textIdRules(contents: Contents): readonly Rule[] {
  const { format, type } = contents.collection.id;
  const { get } = contents.collection.operations;
  const isUuid = format === "uuid";
  const isChosenText = contents.hasTextIds && contents.sendsIds;
  const idOf = (check: RuleContext) => String(contents.idOfNumber(check.id()));
  const accepts = (id: string) => type.parse(id) === id;
  const body = (id: string, name: string) => contents.plantJson(type.toJson(id), name);
  return rulesOf(contents, "ids", {
    "letter-case": {
      applies: isChosenText && !isUuid && accepts(String(contents.idOfNumber(1n)).toLowerCase()),
      title: "Ids that differ in the case of a letter are two plants.",
      required: byDecision(textIdDecision),
      run: async (check) => {
        const id = `${idOf(check)}A`.slice(1);
        await check.expectCreated(body(id, "Monstera"), { name: "Monstera" });
        await check.expectCreated(body(id.toLowerCase(), "Ficus"), { name: "Ficus" });
      },
    },
    "uuid-case": {
      applies: isUuid && get !== undefined,
      title: "A UUID in upper case is the same id.",
      required: byDecision(textIdDecision, rfc(9562, "4")),
      run: async (check) => {
        const id = createdId(contents, await check.create(check.plant()));
        const [lower, upper] = [await getById(check, id), await getById(check, id.toUpperCase())];
        expectStatus(upper, 200);
        expectThat(textOf(lower) === textOf(upper), "expected the same plant");
      },
    },
    "path-encoding": {
      applies: isChosenText && accepts("a/b?c%2F") && get !== undefined,
      title: "An id with characters of a path is found by its percent-encoding.",
      required: byDecision(textIdDecision, rfc(3986, "2.1")),
      run: async (check) => {
        const id = `${idOf(check)}/b?c%2F \u00e4`;
        await check.expectCreated(body(id, "Monstera"), { name: "Monstera" });
        const found = await getById(check, encodeURIComponent(id));
        expectStatus(found, 200);
        expectThat(
          contents.hasTitle(plantOf(contents, found), "Monstera"),
          "expected the plant that was created",
        );
      },
    },
  });
}
