// JSON whose integers keep all of their digits, which numbers of JavaScript lose past 2^53.

/**
 * Parses JSON; an integer that is not safe becomes a bigint. Browsers from before 2025 do not give
 * its digits to a reviver: there it stays a number.
 */
export function parseExactJson(text: string): unknown {
  // https://github.com/tc39/proposal-json-parse-with-source
  const reviver = (_: string, value: unknown, ...[context]: { source?: string }[]) => {
    const digits = context?.source ?? "";
    return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(digits)
      ? BigInt(digits)
      : value;
  };
  return JSON.parse(text, reviver);
}
