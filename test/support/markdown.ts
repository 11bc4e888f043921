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
  /** What stands after the fence, such as "sh"; "" if nothing does. */
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

/** The code of one section of a document. */
export interface DocumentedCode {
  /** The files, by the names in their first lines: comments that are a name and nothing else. */
  readonly files: ReadonlyMap<string, string>;
  /** The blocks of commands. */
  readonly commands: readonly string[];
}

/** The code of the sections that have files, by their headings. */
export function documentedCode(markdown: string): ReadonlyMap<string, DocumentedCode> {
  const sections = Map.groupBy(codeBlocks(markdown), ({ heading }) => heading);
  const codes = [...sections].map(([heading, blocks]) => {
    const files = blocks.flatMap(({ text }) => {
      const [, name] = /^(?:\/\/|#) (\S+\.\w+)\n/.exec(text) ?? [];
      return name === undefined ? [] : [[name, text] as const];
    });
    const commands = blocks.filter(({ language }) => language === "sh").map(({ text }) => text.trim());
    return [heading, { files: new Map(files), commands }] as const;
  });
  return new Map(codes.filter(([, { files }]) => files.size > 0));
}
