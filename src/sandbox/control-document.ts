// Reads openapi-control.yaml, the description of control, and names collections as control does.

import type { Collection } from "../contract/contract.ts";
import text from "./openapi-control.yaml" with { type: "text" };

export const controlDocument = Bun.YAML.parse(text) as {
  readonly paths: Readonly<Record<string, object>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
};

/** The names of other parts, below /sandbox/. */
const partNames = Object.keys(controlDocument.paths).map((path) => path.split("/")[2]);

/** The name of a collection in the paths of control, in rules and in the log. */
export function controlName({ name }: Collection): string {
  return partNames.includes(name) ? `/${name}` : name;
}
