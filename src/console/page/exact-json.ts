// JSON as people read it, with the exact digits of integers.

/** JSON on several lines, with a bigint as a number with all of its digits. */
export function formatExactJson(value: unknown) {
  // A text that no other text of the value has.
  const mark = `int64:${crypto.getRandomValues(new Uint32Array(2)).join(":")}:`;
  const text = JSON.stringify(
    value,
    (_, field) => (typeof field === "bigint" ? `${mark}${field}` : field),
    2,
  );
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}
