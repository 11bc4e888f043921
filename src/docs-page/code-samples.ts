// Code samples of an operation: complete programs that read the token from the environment.

export interface SampledRequest {
  /** The name of the body in the programs, such as "plant". */
  readonly noun: string;
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
    { lang: "Go", label: "Go", source: go(request) },
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
  const authorization = "Authorization: `Bearer $" + "{process.env.ACCESS_TOKEN}`";
  if (body === undefined)
    return `const response = await fetch("${url}", {
  method: "${method}",
  headers: { ${authorization} },
});
console.log(response.status, await response.text());
`;
  return `const response = await fetch("${url}", {
  method: "${method}",
  headers: {
    ${authorization},
    "Content-Type": "application/json",
  },
  // An id beyond 2^53 loses digits as a number: write the JSON text yourself, or use @plantstore/client.
  body: JSON.stringify(${typeScriptLiteral(body)}),
});
console.log(response.status, await response.json());
`;
}

function python({ method, url, body }: SampledRequest): string {
  if (body === undefined)
    return `import os
import urllib.error
import urllib.request

request = urllib.request.Request(
    "${url}",
    method="${method}",
    headers={"Authorization": f"Bearer {os.environ['ACCESS_TOKEN']}"},
)
try:
    with urllib.request.urlopen(request) as response:
        print(response.status, response.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
`;
  // urllib sends a POST if there is a body.
  const ofMethod = method === "POST" ? "" : `\n    method="${method}",`;
  return `import json
import os
import urllib.error
import urllib.request

request = urllib.request.Request(
    "${url}",${ofMethod}
    data=json.dumps(${pythonLiteral(body)}).encode(),
    headers={
        "Authorization": f"Bearer {os.environ['ACCESS_TOKEN']}",
        "Content-Type": "application/json",
    },
)
try:
    with urllib.request.urlopen(request) as response:
        print(response.status, json.load(response))
except urllib.error.HTTPError as error:
    print(error.code, json.load(error))
`;
}

function go({ noun, method, url, body }: SampledRequest): string {
  const hasBody = body !== undefined;
  const imports = ["fmt", "io", "log", "net/http", "os", ...(hasBody ? ["strings"] : [])];
  const reader = hasBody ? `strings.NewReader(${noun})` : "nil";
  const text = hasBody ? json(body) : "";
  return `package main

import (
${imports.map((name) => `\t"${name}"\n`).join("")})

func main() {
${hasBody ? `\t${noun} := ${text.includes("`") ? JSON.stringify(text) : `\`${text}\``}\n` : ""}\trequest, err := http.NewRequest("${method}", "${url}", ${reader})
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("ACCESS_TOKEN"))
${hasBody ? '\trequest.Header.Set("Content-Type", "application/json")\n' : ""}\tresponse, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.StatusCode, string(body))
}
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
