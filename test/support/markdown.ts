// Tables in the documents.

/** The cells of the Markdown table rows that match. */
export function rowsOf(markdown: string, first: RegExp): string[][] {
  return markdown
    .split("\n")
    .filter((line) => line.startsWith("|") && first.test(line))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll("\\|", "|")),
    );
}
