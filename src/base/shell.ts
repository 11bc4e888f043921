// Quotes words for a POSIX shell: what a contract names may be its code.

/** A text as one word. */
export function shellWord(text: string): string {
  return /^[\w.:/%~@=,+-]+$/.test(text) ? text : singleQuoted(text);
}

/** A text in single quotes, in which the shell reads nothing. */
export function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
