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
      "// An id beyond 2^53 loses digits as a number: write the JSON text yourself, or use @plantstore/client.",
      `body: JSON.stringify(${typeScriptLiteral(body)}),`,
    );
  return `const response = await fetch("${url}", {
${init.map((line) => `  ${line}\n`).join("")}});
console.log(response.status, await response.text());
`;
}

function python({ method, url, body }: SampledRequest): string {
  const fields = [`"Authorization": f"Bearer {os.environ['ACCESS_TOKEN']}"`];
  if (body !== undefined) fields.push('"Content-Type": "application/json"');
  const data = body === undefined ? "" : `    data=json.dumps(${pythonLiteral(body)}).encode(),\n`;
  return `${body === undefined ? "" : "import json\n"}import os
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

const json = literal({ member: (name) => JSON.stringify(name), constants: {} });

const pythonLiteral = literal({
  member: (name) => JSON.stringify(name),
  constants: { true: "True", false: "False", null: "None" },
});

const typeScriptLiteral = literal({
  member: (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)),
  padding: " ",
  constants: {},
});

interface Notation {
  readonly member: (name: string) => string;
  /** Between the braces and the members of an object. */
  readonly padding?: string;
  readonly constants: Readonly<Record<string, string>>;
}

/** Writes a value of JSON in one line, in the notation of a language. */
function literal({ member, padding = "", constants }: Notation): (value: unknown) => string {
  return function write(value): string {
    if (Array.isArray(value)) return `[${value.map(write).join(", ")}]`;
    if (typeof value === "object" && value !== null) {
      const members = Object.entries(value).map(([name, each]) => `${member(name)}: ${write(each)}`);
      return `{${padding}${members.join(", ")}${padding}}`;
    }
    const text = JSON.stringify(value);
    return constants[text] ?? text;
  };
}
