// Checks what a rule says of the contract, which openapi-control.yaml does not know.

import type { Rule } from "../../packages/sandbox/src/control-types.ts";
import { BadRequestError } from "../admin-pages/admin-responses.ts";
import type { Contract, Field } from "../contract/contract.ts";
import { fromJson, typeOfKind } from "../contract/stored-types.ts";
import { toExactJson } from "../json/exact-json.ts";
import { sentText } from "../json/sent-json.ts";
import { controlName } from "./control-document.ts";
import { examplesOf } from "./response-examples.ts";

/** The members of a rule's `match` that are no fields. */
const ownConditions = ["collection", "method", "operation", "path", "headers", "body", "id", "share"];

/** The fields that `match` has; others with these names are matched by `body`. */
export function matchableFields({ collections }: Contract): readonly Field[] {
  return collections.flatMap(({ fields }) => fields.filter(({ name }) => !ownConditions.includes(name)));
}

/** Throws a BadRequestError for a rule that no request of the contract can meet. */
export function ruleCheck(contract: Contract): (rule: Rule) => void {
  const { collections } = contract;
  const fields = matchableFields(contract);
  const operations = operationNames(contract);
  let examples: ReturnType<typeof examplesOf> | undefined;
  const exampleNames = () => {
    examples ??= examplesOf(contract, contract.basePath);
    return collections.flatMap((collection) => [...(examples?.(collection).byName.keys() ?? [])]);
  };
  return ({ match = {}, outcome: { example } }) => {
    const { collection, operation, id } = match;
    if (collection !== undefined) assertKnown("collection", collection, collections.map(controlName));
    if (operation !== undefined) assertKnown("operation", operation, operations);
    if (id !== undefined && !collections.some((each) => each.id.type.parse(String(id)) !== undefined))
      throw new BadRequestError(`No resource can have the id ${toExactJson(id)}.`);
    for (const [name, value] of Object.entries(match).filter(([name]) => !ownConditions.includes(name))) {
      const named = fields.filter((field) => field.name === name);
      assertKnown("condition", name, [...ownConditions, ...fields.map((field) => field.name)]);
      const sent = sentText(toExactJson(value));
      if (named.every(({ type }) => fromJson(typeOfKind(type.kind), sent) === undefined))
        throw new BadRequestError(`${JSON.stringify(name)} is never ${toExactJson(value)}.`);
    }
    if (example !== undefined) assertKnown("example", example, exampleNames());
  };
}

/** Names in a message. */
const namesMax = 20;

function assertKnown(what: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  const names = [...new Set(known)];
  const others = names.length > namesMax ? [...names.slice(0, namesMax), "…"] : names;
  const only = names.length === 0 ? "" : `, only ${others.join(", ")}`;
  throw new BadRequestError(`There is no ${what} ${JSON.stringify(name)} in the contract${only}.`);
}

/** The names of operations: those of the description, and those that the server gives others. */
function operationNames({ collections, document }: Contract): string[] {
  const served = collections.flatMap(({ operations }) => Object.values(operations));
  const described = Object.values(document.paths ?? {}).flatMap((item) => Object.values(Object(item)));
  return [...served, ...described].flatMap((each) => {
    const { operationId } = Object(each) as { readonly operationId?: unknown };
    return typeof operationId === "string" ? [operationId] : [];
  });
}
