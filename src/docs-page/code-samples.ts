// Writes code samples of an operation: complete programs that read the token from the environment.

import { shellWord, singleQuoted, withinDoubleQuotes } from "../base/shell.ts";
import { isBasicField, type TokenField } from "../contract/access.ts";

export interface SampledRequest {
  /**
   * The header field of the token, and what goes before the token; undefined where none is needed.
   */
  readonly field: TokenField | undefined;
  readonly method: string;
  readonly url: string;
  /** The JSON of the body; undefined for none. */
  readonly body: string | undefined;
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

function curl({ field, method, url, body }: SampledRequest): string {
  // curl sends a POST if there is a body, and a GET if there is none.
  const isDefault = method === (body === undefined ? "GET" : "POST");
  const options = [
    ...(field === undefined
      ? []
      : [
          isBasicField(field)
            ? '-u "token:$ACCESS_TOKEN"'
            : `-H "${withinDoubleQuotes(field.join(": "))}$ACCESS_TOKEN"`,
        ]),
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${singleQuoted(spaced(body))}`]),
  ];
  const lines = [`curl -i ${isDefault ? "" : `-X ${method} `}${shellWord(url)}`, ...options];
  return `${lines.join(" \\\n  ")}\n`;
}

function typeScript({ field, method, url, body }: SampledRequest): string {
  const fields: string[] = [];
  if (field !== undefined) {
    const [name, prefix] = field;
    const token = "process.env.ACCESS_TOKEN";
    const key = /^\w+$/.test(name) ? name : `"${name}"`;
    const sent = isBasicField(field) ? `btoa(\`token:$\{${token}}\`)` : token;
    fields.push(`${key}: ${prefix === "" ? `String(${sent})` : `\`${prefix}$\{${sent}}\``}`);
  }
  if (body !== undefined) fields.push('"Content-Type": "application/json"');
  const init = [`method: "${method}",`, "headers: {", ...fields.map((field) => `  ${field},`), "},"];
  if (body !== undefined)
    init.push(
      "// A text: JSON.stringify would lose digits of an id beyond 2^53.",
      `body: ${quoted(spaced(body))},`,
    );
  return `const response = await fetch("${url}", {
${init.map((line) => `  ${line}\n`).join("")}});
console.log(response.status, await response.text());
`;
}

function python({ field, method, url, body }: SampledRequest): string {
  const fields: string[] = [];
  const isBasic = field !== undefined && isBasicField(field);
  if (field !== undefined) {
    const [name, prefix] = field;
    const token = isBasic
      ? "base64.b64encode(('token:' + os.environ['ACCESS_TOKEN']).encode()).decode()"
      : "os.environ['ACCESS_TOKEN']";
    fields.push(`"${name}": ${prefix === "" ? token : `f"${prefix}{${token}}"`}`);
  }
  if (body !== undefined) fields.push('"Content-Type": "application/json"');
  const data = body === undefined ? "" : `    data=${quoted(spaced(body))}.encode(),\n`;
  return `${isBasic ? "import base64\n" : ""}import os
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

/** JSON with a space after each colon and comma that is not in a string. */
function spaced(json: string): string {
  return json.replaceAll(/("(?:[^"\\]|\\.)*")|[:,]/g, (token, string) => string ?? `${token} `);
}

/** A text between single quotes, as TypeScript and Python have it. */
function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
}
