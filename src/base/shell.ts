// Quotes words for a POSIX shell: what a contract names may be its code.

/** A text as one word. */
export function shellWord(text: string): string {
  return /^[\w.:/%~@=,+-]+$/.test(text) ? text : singleQuoted(text);
}

/** A text in single quotes, in which the shell reads nothing. */
export function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A text within double quotes, beside which a variable is read (POSIX, section 2.2.3). */
export function withinDoubleQuotes(text: string): string {
  return text.replaceAll(/["$`\\]/g, "\\$&");
}
