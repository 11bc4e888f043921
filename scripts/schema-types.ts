// TypeScript's types of the schemas of an OpenAPI document, with their descriptions.

export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>> | null;
  readonly additionalProperties?: Schema | false;
  readonly readOnly?: boolean;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Declares a type for each schema. An int64 is an AnyId. */
export function declareTypes(schemas: Readonly<Record<string, Schema>>): string {
  return Object.entries(schemas)
    .map(([name, schema]) => comment(schema, "") + declareType(name, schema))
    .join("\n");
}

function declareType(name: string, schema: Schema): string {
  if (schema.type !== "object") return `export type ${name} = ${typeOf(schema, "")};\n`;
  const parents = (schema.allOf ?? []).map((each) => typeOf(each, "")).join(", ");
  return `export interface ${name} ${parents === "" ? "" : `extends ${parents} `}${objectType(schema, "")}\n`;
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? "";
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.oneOf !== undefined) return schema.oneOf.map((each) => typeOf(each, indent)).join(" | ");
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  const own = types.map((type) => typeOfKind(type, schema, indent)).join(" | ");
  const parts = [...(schema.allOf ?? []).map((each) => typeOf(each, indent)), ...(own === "" ? [] : [own])];
  return parts.length === 0 ? "unknown" : parts.join(" & ");
}

function typeOfKind(type: string, schema: Schema, indent: string): string {
  const { items = {}, minItems, maxItems } = schema;
  switch (type) {
    case "object":
      return objectType(schema, indent);
    case "array": {
      const item = typeOf(items, indent);
      const isPair = minItems === 2 && maxItems === 2;
      return isPair ? `readonly [${item}, ${item}]` : `readonly (${item})[]`;
    }
    case "integer":
      return schema.format === "int64" ? "AnyId" : "number";
    default:
      return type;
  }
}

function objectType({ properties, additionalProperties, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const members = Object.entries(properties ?? {}).filter(([, { readOnly }]) => readOnly !== true);
  if (members.length === 0 && typeof additionalProperties === "object")
    return `Readonly<Record<string, ${typeOf(additionalProperties, indent)}>>`;
  const lines = members.map(
    ([name, schema]) =>
      `${comment(schema, inner)}${inner}readonly ${name}${required.includes(name) ? "" : "?"}: ${typeOf(schema, inner)};\n`,
  );
  return `{\n${lines.join("")}${indent}}`;
}

function comment({ description }: Schema, indent: string): string {
  if (description === undefined) return "";
  const lines = description.trimEnd().split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}
