// JSON in which integers keep all of their digits, which numbers of JavaScript lose past 2^53.

/**
 * Parses JSON; an integer that no number holds exactly becomes a bigint, in browsers that tell its
 * digits (since 2025 all).
 *
 * @param {string} text
 * @returns {any}
 */
export function parseExactJson(text) {
  // https://github.com/tc39/proposal-json-parse-with-source
  const reviver = (
    /** @type {string} */ _,
    /** @type {unknown} */ value,
    /** @type {{ source?: string } | undefined} */ context,
  ) => {
    const digits = context?.source ?? "";
    return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(digits)
      ? BigInt(digits)
      : value;
  };
  return JSON.parse(text, /** @type {(key: string, value: any) => any} */ (reviver));
}

/**
 * JSON on several lines, with a bigint as a number with all of its digits.
 *
 * @param {unknown} value
 */
export function formatExactJson(value) {
  // A text that no other text of the value has.
  const mark = `int64:${crypto.getRandomValues(new Uint32Array(2)).join(":")}:`;
  const text = JSON.stringify(
    value,
    (_, field) => (typeof field === "bigint" ? `${mark}${field}` : field),
    2,
  );
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}
