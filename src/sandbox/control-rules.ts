// Reads and replaces the rules for control, and loads those of the start.

import type { Rule, RuleList } from "../../packages/sandbox/src/control-types.ts";
import { AdminError } from "../admin-pages/admin-responses.ts";
import { errorMessage, OperatorError } from "../base/operator-error.ts";
import type { Contract } from "../contract/contract.ts";
import { parseExactJson } from "../json/exact-json.ts";
import { respondControl, respondDone, type SandboxPart } from "./control.ts";
import { controlDocument } from "./control-document.ts";
import { describedJson } from "./described-json.ts";
import { ruleCheck } from "./rule-check.ts";
import type { Rules } from "./rules.ts";

/** Reads the rules of a file. Rejects with an OperatorError if it has no valid ones. */
export async function loadRules(contract: Contract, file: string): Promise<RuleList> {
  try {
    const sent = parseExactJson(await Bun.file(file).text());
    const list = await describedJson(controlDocument)<RuleList>(sent, "#/components/schemas/RuleList");
    list.rules.forEach(ruleCheck(contract));
    return list;
  } catch (error) {
    throw new OperatorError(`${file}: ${errorMessage(error)}`);
  }
}

/** @param atStart those of the start and of each reset. */
export function rulesPart(rules: Rules, atStart: RuleList): SandboxPart {
  rules.replace(atStart);
  const list = () => respondControl({ seed: rules.random.seed, rules: rules.describe() });
  return {
    routes: {
      "GET /sandbox/rules": list,
      "POST /sandbox/rules": async ({ body }) => respondControl(rules.add(await body<Rule>()), 201),
      "PUT /sandbox/rules": async ({ body }) => {
        rules.replace(await body<RuleList>());
        return list();
      },
      "DELETE /sandbox/rules/{id}": ({ parameters: { id = "" } }) => {
        if (!rules.delete(id)) throw new AdminError(404, `There is no rule ${JSON.stringify(id)}.`);
        return respondDone();
      },
    },
    reset: () => rules.replace(atStart),
    describe: () => ({ rules: rules.size }),
  };
}
