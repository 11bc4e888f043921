// The first records of a CSV text, for the preview of an import. The server's parser is the one
// that counts.

/**
 * @param {string} text
 * @param {string} delimiter
 * @param {number} recordsMax
 * @returns {(string | undefined)[][]} Undefined for an empty cell: a plant without a tag.
 */
export function parseCsv(text, delimiter, recordsMax) {
  const start = text.startsWith("\ufeff") ? 1 : 0;
  /** @type {(string | undefined)[][]} */
  const records = [];
  /** @type {(string | undefined)[]} */
  let cells = [];
  for (let at = start; at < text.length && records.length < recordsMax; ) {
    const { value, end } = text[at] === '"' ? quotedCell(text, at) : plainCell(text, at, delimiter);
    cells.push(value);
    const next = text[end];
    at = end + 1;
    // A delimiter at the very end of the text is followed by an empty cell.
    if (next === delimiter && at < text.length) continue;
    if (next === delimiter) cells.push(undefined);
    if (next === "\r" && text[at] === "\n") at++;
    if (cells.some((cell) => cell !== undefined)) records.push(cells);
    cells = [];
  }
  return records;
}

/**
 * @param {string} text
 * @param {number} start
 * @param {string} delimiter
 */
function plainCell(text, start, delimiter) {
  let end = start;
  while (end < text.length && text[end] !== delimiter && text[end] !== "\n" && text[end] !== "\r") end++;
  return { value: end === start ? undefined : text.slice(start, end), end };
}

/**
 * @param {string} text
 * @param {number} start
 */
function quotedCell(text, start) {
  let value = "";
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] !== '"') value += text[at];
    else if (text[at + 1] === '"') {
      value += '"';
      at++;
    } else return { value, end: at + 1 };
  }
  return { value, end: text.length };
}
