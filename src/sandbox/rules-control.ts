// Control of the rules.

import { AdminError } from "../core/admin/request-bodies.ts";
import { respondControl, respondDone, type SandboxPart } from "./control.ts";
import { InvalidValueError } from "./described-json.ts";
import type { Rules } from "./rules.ts";

export function rulesPart(rules: Rules): SandboxPart {
  const list = () => respondControl({ seed: rules.seed, rules: rules.describe() });
  return {
    routes: [
      { method: "GET", path: "/rules", handle: list },
      {
        method: "POST",
        path: "/rules",
        async handle({ json }) {
          const rule = await json();
          return respondControl(
            checked(() => rules.add(rule)),
            201,
          );
        },
      },
      {
        method: "PUT",
        path: "/rules",
        async handle({ json }) {
          const all = await json();
          checked(() => rules.replace(all));
          return list();
        },
      },
      {
        method: "DELETE",
        path: "/rules",
        handle() {
          rules.clear();
          return respondDone();
        },
      },
      {
        method: "DELETE",
        path: "/rules/{id}",
        handle({ parameters: { id = "" } }) {
          if (!rules.delete(id)) throw new AdminError(404, `There is no rule ${JSON.stringify(id)}.`);
          return respondDone();
        },
      },
    ],
    reset: () => rules.clear(),
    describe: () => ({ rules: rules.size }),
  };
}

function checked<T>(change: () => T): T {
  try {
    return change();
  } catch (error) {
    if (error instanceof InvalidValueError) throw new AdminError(400, error.message);
    throw error;
  }
}
