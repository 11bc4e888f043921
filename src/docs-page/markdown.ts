// The Markdown of a description as HTML, without the author's markup.

export function markdown(text: string): string {
  return Bun.markdown.html(text, { noHtmlBlocks: true, noHtmlSpans: true });
}

/** One paragraph, as a part of another element. */
export function inline(text: string): string {
  return markdown(text)
    .trim()
    .replaceAll(/^<p>|<\/p>$/g, "");
}
