// Code samples of an operation: complete programs that read the token from the environment.

export interface SampledRequest {
  readonly method: string;
  readonly url: string;
  /** The body, as JSON.parse has it; undefined for none. */
  readonly body: unknown;
}

export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

export function codeSamples(request: SampledRequest): readonly CodeSample[] {
  return [
    { lang: "Shell", label: "curl", source: curl(request) },
    { lang: "TypeScript", label: "TypeScript", source: typeScript(request) },
    { lang: "Python", label: "Python", source: python(request) },
  ];
}

function curl({ method, url, body }: SampledRequest): string {
  // curl sends a POST if there is a body, and a GET if there is none.
  const isDefault = method === (body === undefined ? "GET" : "POST");
  const options = [
    '-H "Authorization: Bearer $ACCESS_TOKEN"',
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d '${json(body).replaceAll("'", "'\\''")}'`]),
  ];
  return `curl -i ${isDefault ? "" : `-X ${method} `}${url} \\\n  ${options.join(" \\\n  ")}\n`;
}

function typeScript({ method, url, body }: SampledRequest): string {
  const fields = ["Authorization: `Bearer $" + "{process.env.ACCESS_TOKEN}`"];
  if (body !== undefined) fields.push('"Content-Type": "application/json"');
  const init = [`method: "${method}",`, "headers: {", ...fields.map((field) => `  ${field},`), "},"];
  if (body !== undefined)
    init.push(
      "// JSON.stringify would lose digits of an id beyond 2^53; @plantstore/client does not.",
      `body: ${quoted(json(body))},`,
    );
  return `const response = await fetch("${url}", {
${init.map((line) => `  ${line}\n`).join("")}});
console.log(response.status, await response.text());
`;
}

function python({ method, url, body }: SampledRequest): string {
  const fields = [`"Authorization": f"Bearer {os.environ['ACCESS_TOKEN']}"`];
  if (body !== undefined) fields.push('"Content-Type": "application/json"');
  const data = body === undefined ? "" : `    data=${quoted(json(body))}.encode(),\n`;
  return `import os
import urllib.error
import urllib.request

request = urllib.request.Request(
    "${url}",
    method="${method}",
${data}    headers={
${fields.map((field) => `        ${field},\n`).join("")}    },
)
try:
    with urllib.request.urlopen(request) as response:
        print(response.status, response.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
`;
}

/** JSON in one line, with spaces. */
function json(body: unknown): string {
  const lines = JSON.stringify(body, null, 1);
  return lines.replaceAll(/(?<=[{[])\n *|\n *(?=[\]}])/g, "").replaceAll(/\n */g, " ");
}

/** A text between single quotes, as TypeScript and Python have it. */
function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
}
