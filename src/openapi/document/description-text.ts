// Parses the text of a description, which is JSON or YAML.

import type { ContractSource } from "../../contract/contract.ts";
import { exactNumber, parseExactJson, toExactJson } from "../../json/exact-json.ts";
import { isJsonText } from "../../json/json-values.ts";
import { ContractError } from "./place.ts";

/** UTF-16 code units of a description. GitHub's has 13 million. */
export const codeUnitsMax = 32 * 2 ** 20;

/**
 * Parses a description; also returns its source, which has the description in JSON if its text is
 * YAML. Rejects with a ContractError for a text that is neither, or that would take too long.
 */
export async function parseDescription(
  source: ContractSource,
): Promise<{ readonly document: unknown; readonly source: ContractSource }> {
  const { text, json } = source;
  if (text.length > codeUnitsMax) throw new ContractError(`it is longer than ${codeUnitsMax} characters`, "");
  const plain = json ?? text.replace(/^\uFEFF/, "");
  try {
    if (isJsonText(plain) && hasExactNumbers) return { document: parseExactJson(plain), source };
  } catch (error) {
    // A mapping of YAML may begin with a brace, too.
    if (!(error instanceof SyntaxError)) throw error;
  }
  const parsed = await parseYaml(plain);
  return { document: parsed.document, source: { ...source, json: parsed.json } };
}

/** Whether JSON.parse tells the digits of a number, as Bun does and Node.js from version 21. */
const hasExactNumbers = "rawJSON" in JSON;

/** Parses YAML, or JSON, which is YAML; also returns it in JSON. */
async function parseYaml(text: string): Promise<{ readonly document: unknown; readonly json: string }> {
  if (isNestedDeeply(text)) throw new RangeError("too many brackets within each other");
  // Takes 25 ms to load, and as long for its first document.
  const { isNode, isScalar, LineCounter, parseDocument, visit } = await import("yaml");
  try {
    const lineCounter = new LineCounter();
    // The parser's own check of keys takes quadratic time.
    const options = { merge: true, intAsBigInt: true, uniqueKeys: false, logLevel: "error" } as const;
    const document = parseDocument(text, { ...options, lineCounter });
    const [failure] = document.errors;
    if (failure !== undefined) throw failure;
    const fail = (problem: string, offset = 0) => {
      const { line, col } = lineCounter.linePos(offset);
      throw new Error(`${problem} at line ${line}, column ${col}`);
    };
    visit(document, {
      Map(_, { items, range }) {
        const keys = new Set<unknown>();
        for (const { key } of items) {
          // Nested ones take exponential time to be written as texts.
          if (!isScalar(key))
            return fail("Map keys must be texts", isNode(key) ? key.range?.[0] : range?.[0]);
          if (keys.has(key.value)) return fail("Map keys must be unique", key.range?.[0]);
          keys.add(key.value);
        }
      },
      Scalar(key, node) {
        const { value, source = "" } = node;
        const isNumber = typeof value === "number" || typeof value === "bigint";
        if (!isNumber) return;
        if (key === "key") node.value = source;
        else if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(source))
          node.value = exactNumber(source);
        else if (typeof value === "bigint") node.value = exactNumber(String(value));
        else if (!Number.isFinite(value)) throw new Error(`${source} is no number of JSON`);
      },
    });
    const value: unknown = isScalar(document.contents) ? document.contents.value : document.toJS();
    return { document: value, json: toExactJson(value) };
  } catch (error) {
    const [first = ""] = (error as Error).message.split("\n");
    throw new ContractError(`it is neither JSON nor YAML: ${first.replace(/:$/, "")}`, "");
  }
}

/** Brackets within each other, and dashes after each other, for which the parser takes long. */
const nestingMax = 1_000;

function isNestedDeeply(text: string): boolean {
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === "[" || bracket === "{" ? 1 : -1;
    if (depth > nestingMax) return true;
  }
  return /(?:[-?] *){1000}/.test(text);
}
