// npm run generate: writes what follows from the resource into openapi.yaml (schemas, examples and
// code samples; descriptions and names of examples stay as they are), into openapi-control.yaml
// (schemas), and from these into the packages (types).

import { join } from "node:path";
import type { ApiError } from "../src/core/contract/errors.ts";
import { fieldNames, isRequired, sample, titleField, typeOf } from "../src/core/contract/fields.ts";
import { parseNewPlantJson, toJsonPlant } from "../src/core/contract/plant.ts";
import { createPlantOperation } from "../src/core/http/create-plant.ts";
import { routerOf } from "../src/core/http/router.ts";
import { codeSamples } from "../src/docs-page/code-samples.ts";
import { declareTypes, type Schema } from "./schema-types.ts";

const root = join(import.meta.dir, "..");
const header = "// Written by `npm run generate` from src/core/contract/resource.ts.";

const controlFile = "src/sandbox/openapi-control.yaml";

if (import.meta.main)
  for (const [path, text] of await generatedFiles()) await Bun.write(join(root, path), text);

/** The files with what follows from the resource, by their paths. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const control = generateControl(await Bun.file(join(root, controlFile)).text());
  return new Map([
    ["openapi.yaml", generateDescription(await Bun.file(join(root, "openapi.yaml")).text())],
    ["packages/client/src/plant-fields.ts", generateClientFields()],
    [controlFile, control],
    ["packages/sandbox/src/control-types.ts", generateControlTypes(control)],
  ]);
}

/** The text of openapi.yaml with the fields of the resource. */
export function generateDescription(text: string): string {
  const description = new BlockText(text);
  description.replace(["components", "schemas", "Plant"], describePlant);

  const create = ["paths", createPlantOperation.path, createPlantOperation.method.toLowerCase()];
  const requestExamples = [...create, "requestBody", "content", "application/json", "examples"];
  description.replace([...create, "x-codeSamples"], describeSamples);
  description.replace(requestExamples, (lines) => completeExamples(lines, true));
  const examples = (status: string) => [
    ...create,
    "responses",
    status,
    "content",
    "application/json",
    "examples",
  ];
  description.replace(examples("200"), (lines) => completeExamples(lines, false));
  for (const [status, name, message] of errorExamples())
    description.replace([...examples(status), name, "value"], (lines) =>
      lines.map((line) => line.replace(/^( *message: ).*/, (_, key: string) => key + scalar(message))),
    );

  const missing = messageOf(parseNewPlantJson('{"id":1}'));
  description.replace(["components", "schemas", "Error", "properties", "message"], (lines) =>
    lines.map((line) => line.replace(/^( *examples: ).*/, (_, key: string) => `${key}[${scalar(missing)}]`)),
  );
  return description.text;
}

/** The examples of errors whose messages name fields. */
function errorExamples(): [status: string, name: string, message: string][] {
  const title = String(sample()[titleField]);
  const unstorable = { ...(jsonSample() as object), [titleField]: `${title.slice(0, 5)}\0${title.slice(5)}` };
  const { path } = createPlantOperation;
  const route = routerOf([createPlantOperation], "")("GET", path);
  if (route.operation !== undefined) throw new Error(`GET is offered at ${path}`);
  return [
    ["400", "invalidPlant", messageOf(parseNewPlantJson('{"id": "1"}'))],
    ["400", "unstorableText", messageOf(parseNewPlantJson(JSON.stringify({ id: 1, ...unstorable })))],
    ["405", "methodNotAllowed", route.error.message],
  ];
}

function messageOf(error: object): string {
  return (error as ApiError).message;
}

/** The schema Plant. A field that is new gets a description to start from. */
function describePlant(lines: readonly string[], indent: string): string[] {
  const plant = new BlockText(lines.join("\n"));
  const keywords = [`${indent}required:`, `${indent}properties:`];
  const head = lines.findIndex((line) => keywords.some((keyword) => line.startsWith(keyword)));
  return [
    ...lines.slice(0, head),
    `${indent}required: [${fieldNames.filter(isRequired).join(", ")}]`,
    `${indent}properties:`,
    ...fieldNames.flatMap((field) => {
      const inner = `${indent}    `;
      const { type, format, ...limits } = typeOf(field).schema;
      const described = plant.find(["properties", field, "description"]);
      return [
        `${indent}  ${field}:`,
        `${inner}type: ${flow(type)}`,
        ...(format === undefined ? [] : [`${inner}format: ${flow(format)}`]),
        ...(described ?? [`${inner}description: The ${field.replaceAll("_", " ")} of the plant.`]),
        ...Object.entries(limits).map(([name, value]) => `${inner}${name}: ${flow(value)}`),
        `${inner}examples: [${flow(jsonSample()[field])}]`,
      ];
    }),
  ];
}

function describeSamples(_: readonly string[], indent: string): string[] {
  const url = `http://127.0.0.1:8080${createPlantOperation.path}`;
  const body = { id: 1, ...jsonSample() };
  const samples = codeSamples({ method: createPlantOperation.method, url, body });
  return samples.flatMap(({ lang, label, source }) => [
    `${indent}- lang: ${lang}`,
    `${indent}  label: ${label}`,
    `${indent}  source: |`,
    ...source
      .trimEnd()
      .split("\n")
      .map((line) => (line === "" ? "" : `${indent}    ${line}`)),
  ]);
}

/**
 * Examples of plants with the fields of the resource. The first one is the sample; others have what
 * they had, and what is required.
 */
function completeExamples(lines: readonly string[], hasId: boolean): string[] {
  const { examples } = Bun.YAML.parse(`examples:\n${lines.join("\n")}`) as {
    examples: Readonly<Record<string, { value: Readonly<Record<string, unknown>> }>>;
  };
  const values = Object.values(examples).map(({ value }, index) => [
    ...(hasId ? [["id", value.id]] : []),
    ...fieldNames
      .filter((field) => index === 0 || isRequired(field) || value[field] !== undefined)
      .map((field) => [
        field,
        index > 0 && isOfType(field, value[field]) ? value[field] : jsonSample()[field],
      ]),
  ]);
  const written = values.values();
  return lines.map((line) =>
    line.replace(
      /^( *value: ).*/,
      (_, key: string) => key + flow(Object.fromEntries(written.next().value ?? [])),
    ),
  );
}

function isOfType(field: (typeof fieldNames)[number], value: unknown): boolean {
  return typeOf(field).fromJson(value, () => String(value)) !== undefined;
}

/** A plant of the examples, as JSON.parse has it. */
function jsonSample(): Readonly<Record<string, unknown>> {
  return JSON.parse(JSON.stringify(toJsonPlant(sample())));
}

function generateClientFields(): string {
  return `${header}

/** A plant as it is returned, without its id. A field that the plant does not have is absent. */
export interface Plant {
${declareFields(fieldNames)}}

/** The type of each field in JSON. */
export const fields = {
${fieldNames.map((field) => `  ${field}: { type: "${jsonType(field)}", isRequired: ${isRequired(field)} },\n`).join("")}} as const;
`;
}

/** The text of openapi-control.yaml with the fields of the resource. */
function generateControl(text: string): string {
  const description = new BlockText(text);
  description.replace(["components", "schemas", "Plant"], describePlant);
  description.replace(["components", "schemas", "MatchedPlant"], (lines, indent) =>
    describePlant(lines, indent).filter((line) => !line.startsWith(`${indent}required:`)),
  );
  return description.text;
}

/** The types of what control accepts and returns. */
function generateControlTypes(text: string): string {
  const { components } = Bun.YAML.parse(text) as { components: { schemas: Record<string, Schema> } };
  return `// Written by \`npm run generate\` from ${controlFile}.

/** An int64; a number must be a safe integer. Larger ids are bigints: \`9007199254740993n\`. */
export type AnyId = bigint | number;

${declareTypes(components.schemas)}`;
}

function declareFields(fields: readonly (typeof fieldNames)[number][]): string {
  return fields
    .map((field) => `  readonly ${field}${isRequired(field) ? "" : "?"}: ${typeScriptType(field)};\n`)
    .join("");
}

type JsonType = "string" | "int64" | "number" | "boolean" | "array";

function jsonType(field: (typeof fieldNames)[number]): JsonType {
  const { type, format } = typeOf(field).schema;
  if (type === "integer") return format === "int64" ? "int64" : "number";
  return type as JsonType;
}

function typeScriptType(field: (typeof fieldNames)[number]): string {
  const values = typeOf(field).schema.enum as readonly string[] | undefined;
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" | ");
  const types: Readonly<Record<JsonType, string>> = {
    string: "string",
    int64: "bigint | number",
    number: "number",
    boolean: "boolean",
    array: "readonly string[]",
  };
  return types[jsonType(field)];
}

/** A value of YAML in one line. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value === "object" && value !== null)
    return `{ ${Object.entries(value)
      .map(([name, member]) => `${name}: ${flow(member)}`)
      .join(", ")} }`;
  if (typeof value !== "string") return JSON.stringify(value);
  const isPlain = /^[A-Za-z][\w .-]*$/.test(value) && !value.endsWith(" ") && Bun.YAML.parse(value) === value;
  return isPlain ? value : scalar(value);
}

/** A quoted text, without escapes where that is possible. */
function scalar(text: string): string {
  const isLiteral = /^[^'\p{Cc}]*$/u.test(text) && /["\\]/.test(text);
  return isLiteral ? `'${text}'` : JSON.stringify(text);
}

/** A text of YAML whose blocks are found by their indentation, so that all else stays as it is. */
class BlockText {
  #lines: string[];

  constructor(text: string) {
    this.#lines = text.split("\n");
  }

  get text(): string {
    return this.#lines.join("\n");
  }

  /** The lines of a member with its name; undefined if there is none. */
  find(path: readonly string[]): string[] | undefined {
    const range = this.#range(path);
    return range && this.#lines.slice(range.start, range.end);
  }

  /** Replaces the lines below the name of a member. Throws if there is none. */
  replace(
    path: readonly string[],
    write: (lines: readonly string[], indent: string) => readonly string[],
  ): void {
    const range = this.#range(path);
    if (range === undefined) throw new Error(`openapi.yaml has no ${path.join(" > ")}`);
    const { start, end } = range;
    const lines = this.#lines.slice(start + 1, end);
    this.#lines.splice(start + 1, lines.length, ...write(lines, /^ */.exec(lines[0] ?? "")?.[0] ?? ""));
  }

  #range(path: readonly string[]): { start: number; end: number } | undefined {
    let [start, end] = [-1, this.#lines.length];
    for (const name of path) {
      const isMember = (line: string) =>
        [`${name}:`, `"${name}":`].some((key) => line.trimStart().startsWith(key));
      const indent = indentOf(this.#lines[start + 1] ?? "");
      start = this.#lines.findIndex(
        (line, index) => index > start && index < end && indentOf(line) === indent && isMember(line),
      );
      if (start === -1) return undefined;
      const next = this.#lines.findIndex(
        (line, index) => index > start && line.trim() !== "" && indentOf(line) <= indent,
      );
      end = next === -1 ? this.#lines.length : next;
    }
    return { start, end };
  }
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
