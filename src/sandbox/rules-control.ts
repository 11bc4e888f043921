// Control of the rules.

import { AdminError } from "../core/admin/request-bodies.ts";
import { respondControl, respondDone, type SandboxPart } from "./control.ts";
import type { Rules } from "./rules.ts";

export function rulesPart(rules: Rules): SandboxPart {
  const list = () => respondControl({ seed: rules.random.seed, rules: rules.describe() });
  return {
    routes: {
      "GET /sandbox/rules": list,
      "POST /sandbox/rules": async ({ json }) => respondControl(rules.add(await json()), 201),
      "PUT /sandbox/rules": async ({ json }) => {
        rules.replace(await json());
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
