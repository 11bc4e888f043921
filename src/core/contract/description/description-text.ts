// The text of a description: JSON, or YAML.

import { contractError } from "./contract-error.ts";

/** UTF-16 code units of a description, which is larger than any that is known. */
const codeUnitsMax = 8 * 2 ** 20;

/** Rejects with an OperatorError for a text that is neither, or that would take too long. */
export async function parseDescription(text: string): Promise<unknown> {
  if (text.length > codeUnitsMax) throw contractError("", `it is longer than ${codeUnitsMax} characters`);
  const plain = text.replace(/^\uFEFF/, "");
  try {
    if (/^\s*\{/.test(plain)) return JSON.parse(plain);
  } catch {
    // A mapping of YAML may begin with a brace, too.
  }
  try {
    // Both refuse aliases that grow without bound, and nesting that is too deep.
    return typeof Bun === "undefined" ? (await import("yaml")).parse(plain) : Bun.YAML.parse(plain);
  } catch (error) {
    throw contractError("", `it is neither JSON nor YAML: ${(error as Error).message}`);
  }
}
