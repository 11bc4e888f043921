// Checks what a rule says of the contract, which openapi-control.yaml does not know.

import type { Rule } from "../../packages/sandbox/src/control-types.ts";
import { BadRequestError } from "../admin-pages/admin-responses.ts";
import { listed } from "../base/listed.ts";
import type { Contract } from "../contract/contract.ts";
import { toExactJson } from "../json/exact-json.ts";
import { controlName } from "./control-document.ts";

/** Throws a BadRequestError for a rule that no request of the contract can meet. */
export function checkRule({ collections }: Contract, { match: { collection, id } = {} }: Rule): void {
  const names = collections.map(controlName);
  if (collection !== undefined && !names.includes(collection))
    throw new BadRequestError(
      `There is no collection ${JSON.stringify(collection)} in the contract, only ${listed(names)}.`,
    );
  if (id !== undefined && !collections.some((each) => each.id.type.parse(String(id)) !== undefined))
    throw new BadRequestError(`No resource can have the id ${toExactJson(id)}.`);
}
