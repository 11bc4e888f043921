// Control of the rules.

import type { Rule } from "../../packages/sandbox/src/control-types.ts";
import { AdminError } from "../core/admin/request-bodies.ts";
import { respondControl, respondDone, type SandboxPart } from "./control.ts";
import { parseDescribed } from "./described-json.ts";
import type { RuleList, Rules } from "./rules.ts";

export function rulesPart(rules: Rules): SandboxPart {
  const list = () => respondControl({ seed: rules.random.seed, rules: rules.describe() });
  return {
    routes: {
      "GET /sandbox/rules": list,
      "POST /sandbox/rules": async ({ json }) =>
        respondControl(rules.add(await parseDescribed<Rule>(await json(), "Rule")), 201),
      "PUT /sandbox/rules": async ({ json }) => {
        rules.replace(await parseDescribed<RuleList>(await json(), "RuleList"));
        return list();
      },
      "DELETE /sandbox/rules": () => {
        rules.clear();
        return respondDone();
      },
      "DELETE /sandbox/rules/{id}": ({ parameter: id }) => {
        if (!rules.delete(id)) throw new AdminError(404, `There is no rule ${JSON.stringify(id)}.`);
        return respondDone();
      },
    },
    reset: () => rules.clear(),
    describe: () => ({ rules: rules.size }),
  };
}
