// Reads and replaces the rules for control.

import type { Rule } from "../../packages/sandbox/src/control-types.ts";
import { AdminError } from "../admin-pages/admin-responses.ts";
import { respondControl, respondDone, type SandboxPart } from "./control.ts";
import type { Rules } from "./rules.ts";

export function rulesPart(rules: Rules): SandboxPart {
  const list = () => respondControl({ rules: rules.describe() });
  return {
    routes: {
      "GET /sandbox/rules": list,
      "POST /sandbox/rules": async ({ body }) => respondControl(rules.add(await body<Rule>()), 201),
      "PUT /sandbox/rules": async ({ body }) => {
        rules.replace((await body<{ readonly rules: readonly Rule[] }>()).rules);
        return list();
      },
      "DELETE /sandbox/rules/{id}": ({ parameters: { id = "" } }) => {
        if (!rules.delete(id)) throw new AdminError(404, `There is no rule ${JSON.stringify(id)}.`);
        return respondDone();
      },
    },
    reset: () => rules.replace([]),
    describe: () => ({ rules: rules.size }),
  };
}
