// The text of a sandbox's documentation page: that of the interface, and how the sandbox is told what
// to respond.

/**
 * Returns the text of the page.
 *
 * @param text the description of the interface, in Markdown.
 * @param controlUrl undefined without an admin listener.
 */
export function sandboxPageText(text: string, token: string, controlUrl: string | undefined): string {
  const chapters = text
    .split(/^(?=## )/m)
    .map((chapter) => (chapter.startsWith("## Tokens\n") ? "" : chapter));
  const [introduction = "", ...others] = chapters;
  return `This is a sandbox: its store is in memory, and nothing is kept. ${introduction}${sandboxChapter(token, controlUrl)}${others.join("")}`;
}

function sandboxChapter(token: string, controlUrl: string | undefined): string {
  const control =
    controlUrl === undefined
      ? ""
      : `
[Control](${controlUrl}/openapi.json) reads plants and requests back, resets the sandbox, and has rules for
requests that cannot send \`Prefer\`:

    curl -X POST ${controlUrl}/reset
    curl ${controlUrl}/requests
    curl ${controlUrl}/rules -d '{"times": 1, "outcome": {"error": 50300}}'
`;
  return `## Sandbox

The token is \`${token}\`: send it as \`Authorization: Bearer ${token}\`.

A request chooses its response with a \`Prefer\` header:

| Prefer | Response |
| --- | --- |
| \`code=429\` | The error with this status, or with a code such as \`code=40009\`. |
| \`example=withTag\` | This example of the description. |
| \`delay=2.5\` | After so many seconds. |
${control}
`;
}
