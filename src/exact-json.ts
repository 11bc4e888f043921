// JSON whose integers keep all of their digits, which numbers of JavaScript lose past 2^53.

/** Parses JSON; an integer that is not safe becomes a bigint. */
export function parseExactJson(text: string): unknown {
  const reviver = (_: string, value: unknown, ...[context]: { source?: string }[]) => {
    const digits = context?.source ?? "";
    return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(digits)
      ? BigInt(digits)
      : value;
  };
  return JSON.parse(text, reviver);
}

/** Writes JSON; a bigint becomes a number with all of its digits. */
export function toExactJson(value: unknown, space = 0): string {
  const replacer = (_: string, field: unknown) =>
    typeof field === "bigint" ? JSON.rawJSON(String(field)) : field;
  return JSON.stringify(value, replacer, space);
}
