// Tables and code in the documents.

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

export interface CodeBlock {
  /** The heading that it is under. */
  readonly heading: string;
  /** The word after the fence, such as "sh"; "" if there is none. */
  readonly language: string;
  readonly text: string;
}

/** The fenced blocks of code, in their order. */
export function codeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let heading = "";
  for (const [, title, language = "", text] of markdown.matchAll(/^#+ (.+)$|^```(.*)\n([\s\S]*?)^```$/gm)) {
    if (text === undefined) heading = title ?? "";
    else blocks.push({ heading, language, text });
  }
  return blocks;
}

/** The output that a document shows right after a block, in which … stands for anything. */
export function outputAfter(block: CodeBlock, blocks: readonly CodeBlock[]): RegExp | undefined {
  const next = blocks[blocks.indexOf(block) + 1];
  if (next?.language !== "") return undefined;
  return new RegExp(`^${next.text.split("…").map(RegExp.escape).join(".*")}$`);
}
