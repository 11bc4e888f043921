// Parses flags that are named after the fields of a contract, such as --height-cm 150, once the
// store is open, as the contract is in it.

import { OperatorError } from "../../base/operator-error.ts";
import type { Collection, Field } from "../../contract/contract.ts";

/**
 * The flag of a field: "_" becomes "-". `--field-` goes before a name that is an option of the
 * command.
 */
export function flagOf({ name }: Field): string {
  return name.replaceAll("_", "-");
}

/** A flag and its text; undefined for one that takes none. */
export interface FieldFlag {
  readonly field: Field;
  readonly isRemoved: boolean;
  readonly text: string;
}

/** Throws an OperatorError for an argument that cannot be a flag, before the store is opened. */
export function assertFlags(args: readonly string[]): void {
  if (args[0] !== undefined && !args[0].startsWith("--"))
    throw new OperatorError("too many arguments; see --help", 2);
}

/** @param args what no option of the command has taken. Throws an OperatorError. */
export function parseFieldFlags(collection: Collection, args: readonly string[]): FieldFlag[] {
  const flags: FieldFlag[] = [];
  for (let at = 0; at < args.length; at++) {
    const [, name = "", , own] = /^--([^=]*)(=(.*))?$/s.exec(args[at] ?? "") ?? [];
    const find = (wanted: string) =>
      collection.fields.find((field) => [flagOf(field), `field-${flagOf(field)}`].includes(wanted));
    const field = find(name);
    const removed = field === undefined && name.startsWith("remove-") ? find(name.slice(7)) : undefined;
    const found = field ?? removed;
    if (found === undefined) throw new OperatorError(unknownMessage(collection, args[at] ?? ""), 2);
    const text = removed !== undefined ? "" : (own ?? args[++at]);
    if (text === undefined) throw new OperatorError(`--${name} needs a value`, 2);
    flags.push({ field: found, isRemoved: removed !== undefined, text });
  }
  return flags;
}

/** Without what follows the "=", which may be a secret. */
function unknownMessage({ fields }: Collection, argument: string): string {
  const plain = argument.replace(/=.*/s, "");
  const problem = plain.startsWith("--") ? `unknown option '${plain}'` : "too many arguments";
  return `${problem}; the fields are ${fields.map((field) => `--${flagOf(field)}`).join(", ")}`;
}
