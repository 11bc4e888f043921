// Reads the parameters of a request to a described operation as the request has them (OpenAPI 3.1,
// section 4.8.12), and holds each against its schema.

import { ApiError } from "../base/errors.ts";
import { faultIn, type SchemaCheck } from "../contract/schema-check.ts";
import type { Json } from "../json/json-values.ts";
import { checkOf } from "../openapi/description/checks.ts";
import type { DescribedOperation } from "../openapi/description/described-operation.ts";
import { expandSchema } from "../openapi/description/expanded-schema.ts";
import { type Place, readable, readableAsync } from "../openapi/document/place.ts";
import { isOnly, itemsOfTexts, mayHave, objectOfPairs, type Pair, valueOfText } from "./sent-values.ts";

/** The parts of a request that parameters are in. */
export interface SentParameters {
  readonly headers: Headers;
  /** The query, without "?". */
  readonly query: string;
  /** The parameters of the path, without percent-encoding. */
  readonly segments: Readonly<Record<string, string>>;
}

/** The values of parameters by their names, where they are sent. */
export type SentValues = Readonly<Record<"path" | "query" | "header" | "cookie", Json>>;

interface Parameter {
  readonly name: string;
  readonly in: keyof SentValues;
  readonly isRequired: boolean;
  readonly style: string;
  readonly explode: boolean;
  /** Whether its value is JSON in a text. */
  readonly isJson: boolean;
  readonly mayBeEmpty: boolean;
  readonly schema: Json;
  readonly check: SchemaCheck;
}

/**
 * Reads the description of parameters, and returns what reads them: their values, or the error of the
 * first one that is missing or does not fit its schema. One that was not sent has its default. A
 * parameter that cannot be checked, such as a querystring of OpenAPI 3.2, is left out.
 */
export async function readDescribedParameters({
  parameters,
}: DescribedOperation): Promise<(sent: SentParameters) => SentValues | ApiError> {
  const read = new Map<string, Parameter>();
  for (const place of parameters) {
    const parameter = await readableAsync(() => readParameter(place));
    const key = `${parameter?.in} ${parameter?.name}`;
    // A parameter of the operation replaces one of its path.
    if (parameter !== undefined && !read.has(key)) read.set(key, parameter);
  }
  const all = [...read.values()];
  const names = new Set(all.map(({ name }) => name));
  return (sent) => {
    const values = { path: {}, query: {}, header: {}, cookie: {} } as Record<
      keyof SentValues,
      Record<string, unknown>
    >;
    for (const parameter of all) {
      const { name, in: where, isRequired, mayBeEmpty, schema, check } = parameter;
      const value = sentValue(parameter, sent, names);
      if (value === undefined && isRequired)
        return invalid(`The ${where} parameter ${name} is missing, which must be ${check.expected}.`);
      values[where][name] = value ?? schema.default;
      if (value === undefined || (value === "" && mayBeEmpty)) continue;
      const fault = faultIn(check, value);
      if (fault !== undefined) return invalid(`The ${where} parameter ${name} is not valid: ${fault}.`);
    }
    return values;
  };
}

function invalid(message: string): ApiError {
  return new ApiError("invalidParameter", message);
}

async function readParameter(place: Place): Promise<Parameter | undefined> {
  const { name, in: where, required, style, explode, allowEmptyValue } = place.object ?? {};
  const [[type, media] = []] = place.at("content").members;
  const described = media?.at("schema") ?? place.at("schema");
  const isElsewhere = where === "header" && /^(?:accept|content-type|authorization)$/i.test(String(name));
  if (typeof name !== "string" || isElsewhere || described.value === undefined) return undefined;
  if (!["path", "query", "header", "cookie"].includes(String(where))) return undefined;
  const isForm = where === "query" || where === "cookie";
  const ownStyle = typeof style === "string" ? style : isForm ? "form" : "simple";
  return {
    name,
    in: where as Parameter["in"],
    isRequired: required === true,
    style: ownStyle,
    explode: typeof explode === "boolean" ? explode : ownStyle === "form" || ownStyle === "cookie",
    isJson: type !== undefined && /\bjson\b/i.test(type),
    mayBeEmpty: allowEmptyValue === true,
    schema: readable(() => expandSchema(described)) ?? {},
    check: await checkOf(described),
  };
}

/**
 * The value that was sent; undefined for none.
 *
 * @param names of all parameters, which are no members of one that is an object.
 */
function sentValue(
  parameter: Parameter,
  { headers, query, segments }: SentParameters,
  names: ReadonlySet<string>,
): unknown {
  const { name, in: where } = parameter;
  if (where === "query") return formValue(parameter, [...new URLSearchParams(query)], names);
  if (where === "cookie") {
    const asQuery = (headers.get("cookie") ?? "").replaceAll(/[&+]/g, encodeURIComponent);
    return formValue(parameter, [...new URLSearchParams(asQuery.replaceAll(/; */g, "&"))], names);
  }
  const text = where === "header" ? (headers.get(name) ?? undefined) : pathText(parameter, segments[name]);
  return text === undefined ? undefined : separated(parameter, text, / *, */);
}

const separators: Readonly<Record<string, string>> = { spaceDelimited: " ", pipeDelimited: "|" };

function formValue(parameter: Parameter, pairs: readonly Pair[], names: ReadonlySet<string>): unknown {
  const { name, style, explode, isJson, isRequired, schema } = parameter;
  const isDeep = style === "deepObject";
  if (isDeep || (explode && !isJson && isOnly(schema, "object"))) {
    const members = isDeep
      ? pairs
          .filter(([each]) => each.startsWith(`${name}[`) && each.endsWith("]"))
          .map(([each, text]): Pair => [each.slice(name.length + 1, -1), text])
      : pairs.filter(([each]) => mayHave(schema, each) && !names.has(each.replace(/\[.*/s, "")));
    // An empty object is written as nothing.
    return members.length === 0 && !isRequired ? undefined : objectOfPairs(members, schema);
  }
  const texts = pairs.filter(([each]) => each === name).map(([, text]) => text);
  if (texts.length === 0) return undefined;
  if (explode && !isJson && isOnly(schema, "array")) return itemsOfTexts(texts, schema);
  return separated({ ...parameter, explode: false }, texts[0] ?? "", separators[style] ?? ",");
}

/** The value of a text whose items, or whose names and values, are separated. */
function separated(
  { schema, isJson, explode }: Parameter,
  text: string,
  separator: string | RegExp,
): unknown {
  const isObject = isOnly(schema, "object");
  if (isJson || !(isObject || isOnly(schema, "array"))) return valueOfText(text, schema);
  const items = text === "" ? [] : text.split(separator);
  if (!isObject) return itemsOfTexts(items, schema);
  const parts = explode ? items.flatMap((item) => item.split(/=(.*)/s, 2)) : items;
  const pairs = parts.flatMap((name, at): Pair[] => (at % 2 === 0 ? [[name, parts[at + 1] ?? ""]] : []));
  return objectOfPairs(pairs, schema);
}

/** The text of a parameter of the path, without what the styles label and matrix put before it. */
function pathText({ name, style, schema }: Parameter, segment: string | undefined): string | undefined {
  // The point of a number separates nothing.
  const hasParts = isOnly(schema, "array") || isOnly(schema, "object");
  if (style === "label") return segment?.replace(/^\./, "").replaceAll(".", hasParts ? "," : ".");
  if (style === "matrix") return segment?.replaceAll(";", ",").replaceAll(`,${name}=`, ",").slice(1);
  return segment;
}
