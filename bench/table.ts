// Tables in Markdown, which read well in a terminal and can be pasted into a document.

/** A table whose first column is aligned to the left and all others, figures, to the right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, 3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) => {
    const padded = widths.map((width, column) =>
      column === 0 ? (cells[column] ?? "").padEnd(width) : (cells[column] ?? "").padStart(width),
    );
    return `| ${padded.join(" | ")} |`;
  };
  const rule = widths.map((width, column) => "-".repeat(width - 1) + (column === 0 ? "-" : ":"));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

/** A whole number with thousands separated: 31,250. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** About three significant digits: 0.71, 12.3, 250. */
export function figure(value: number): string {
  if (value >= 100) return whole(value);
  return value.toFixed(value >= 10 ? 1 : 2);
}
