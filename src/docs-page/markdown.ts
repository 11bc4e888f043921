// Renders the Markdown of a description, without the author's HTML.

export function markdown(text: string): string {
  return Bun.markdown.html(text, { noHtmlBlocks: true, noHtmlSpans: true });
}

/** One paragraph, as a part of another element. */
export function inline(text: string): string {
  return markdown(text)
    .trim()
    .replaceAll(/^<p>|<\/p>$/g, "");
}
