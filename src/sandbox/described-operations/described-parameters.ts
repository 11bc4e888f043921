// The parameters of a described operation: how each is written in a request (OpenAPI 3.1, section
// 4.8.12), and what its schema accepts.

import { checkOf } from "../../core/contract/description/checks.ts";
import type { DescribedOperation } from "../../core/contract/description/described-operation.ts";
import { expandSchema } from "../../core/contract/description/expanded-schema.ts";
import { ContractError, type Place } from "../../core/contract/description/place.ts";
import { ApiError } from "../../core/contract/errors.ts";
import type { Json } from "../../core/contract/json/json-values.ts";
import { decodePercent } from "../../core/contract/json/percent-encoding.ts";
import type { SchemaCheck } from "../../core/contract/schema/schema-check.ts";
import { faultIn } from "./made-values.ts";
import {
  isArray,
  isOnly,
  itemsOfTexts,
  mayHave,
  objectOfPairs,
  type Pair,
  valueOfText,
} from "./sent-values.ts";

/** The parts of a request that parameters are in. */
export interface SentParameters {
  readonly headers: Headers;
  /** The query, without "?". */
  readonly query: string;
  /** The parameters of the path, without percent-encoding. */
  readonly segments: Readonly<Record<string, string>>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly isRequired: boolean;
  readonly style: string;
  readonly explode: boolean;
  /** Whether its value is JSON in a text. */
  readonly isJson: boolean;
  readonly mayBeEmpty: boolean;
  readonly schema: Json;
  readonly check: SchemaCheck;
}

export class DescribedParameters {
  readonly #all: readonly Parameter[];

  private constructor(all: readonly Parameter[]) {
    this.#all = all;
  }

  /** Reads the parameters. One that cannot be checked, such as a querystring of OpenAPI 3.2, is left out. */
  static async read({ parameters }: DescribedOperation): Promise<DescribedParameters> {
    const read = new Map<string, Parameter>();
    for (const place of parameters) {
      const parameter = await readParameter(place);
      const key = `${parameter?.in} ${parameter?.name}`;
      // Those of the operation come before those of its path.
      if (parameter !== undefined && !read.has(key)) read.set(key, parameter);
    }
    return new DescribedParameters([...read.values()]);
  }

  /** The error of the first parameter that is missing, or that does not fit its schema. */
  fault(sent: SentParameters): ApiError | undefined {
    const names = new Set(this.#all.map(({ name }) => name));
    for (const parameter of this.#all) {
      const { name, in: where, isRequired, mayBeEmpty, check } = parameter;
      const value = sentValue(parameter, sent, names);
      if (value === undefined && isRequired)
        return invalid(`The ${where} parameter ${name} is missing, which must be ${check.expected}.`);
      if (value === undefined || (value === "" && mayBeEmpty)) continue;
      const fault = faultIn(check, value);
      if (fault !== undefined) return invalid(`The ${where} parameter ${name} is not valid: ${fault}.`);
    }
    return undefined;
  }
}

function invalid(message: string): ApiError {
  return new ApiError("invalidParameter", message);
}

async function readParameter(place: Place): Promise<Parameter | undefined> {
  try {
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
      in: String(where),
      isRequired: required === true,
      style: ownStyle,
      explode: typeof explode === "boolean" ? explode : ownStyle === "form" || ownStyle === "cookie",
      isJson: type !== undefined && /\bjson\b/i.test(type),
      mayBeEmpty: allowEmptyValue === true,
      schema: expandSchema(described),
      check: await checkOf(described),
    };
  } catch (error) {
    if (error instanceof ContractError) return undefined;
    throw error;
  }
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
  if (where === "query") return formValue(parameter, pairsOf(query.replaceAll("+", " "), "&"), names);
  if (where === "cookie") return formValue(parameter, pairsOf(headers.get("cookie") ?? "", ";"), names);
  if (where === "header") return textValue(parameter, headers.get(name) ?? undefined);
  return textValue(parameter, pathText(parameter, segments[name]));
}

/** The raw names and texts of a query, or of cookies. */
function pairsOf(text: string, separator: string): Pair[] {
  return text.split(separator).flatMap((pair): Pair[] => {
    const [name = "", ...rest] = pair.trim().split("=");
    return name === "" ? [] : [[decodePercent(name), rest.join("=")]];
  });
}

const separators: Readonly<Record<string, RegExp>> = {
  spaceDelimited: / |%20/,
  pipeDelimited: /\||%7c/i,
};

function formValue(parameter: Parameter, pairs: readonly Pair[], names: ReadonlySet<string>): unknown {
  const { name, style, explode, isJson, schema } = parameter;
  if (style === "deepObject") {
    const members = pairs.flatMap(([each, text]): Pair[] => {
      const [, member] = each.startsWith(`${name}[`)
        ? (/^\[([^[\]]*)\]/.exec(each.slice(name.length)) ?? [])
        : [];
      return member === undefined ? [] : [[member, decodePercent(text)]];
    });
    return members.length === 0 ? undefined : objectOfPairs(members, schema);
  }
  const texts = pairs.filter(([each]) => each === name).map(([, text]) => text);
  if (explode && !isJson && isOnly(schema, "object")) {
    const own = pairs.filter(([each]) => mayHave(schema, each) && !names.has(each.replace(/\[.*/s, "")));
    // An empty object is written as nothing.
    return own.length === 0 && !parameter.isRequired
      ? undefined
      : objectOfPairs(
          own.map(([each, text]) => [each, decodePercent(text)]),
          schema,
        );
  }
  if (texts.length === 0) return undefined;
  if (isArray(schema) && !isJson && explode) return itemsOfTexts(texts.map(decodePercent), schema);
  return separated(parameter, texts[0] ?? "", separators[style] ?? /,|%2c/i);
}

/** A text whose items are separated, before its percent-encoding is taken away. */
function separated({ schema, isJson }: Parameter, text: string, separator: RegExp): unknown {
  const items = () => (text === "" ? [] : text.split(separator).map(decodePercent));
  if (!isJson && isArray(schema)) return itemsOfTexts(items(), schema);
  if (isJson || !isOnly(schema, "object")) return valueOfText(decodePercent(text), schema);
  const all = items();
  const pairs = all.flatMap((name, at): Pair[] => (at % 2 === 0 ? [[name, all[at + 1] ?? ""]] : []));
  return objectOfPairs(pairs, schema);
}

/** The text of a parameter of the path, without what the styles label and matrix put before it. */
function pathText({ name, style }: Parameter, segment: string | undefined): string | undefined {
  if (style === "label") return segment?.replace(/^\./, "").replaceAll(".", ",");
  if (style === "matrix")
    return segment?.replace(/^;/, "").replaceAll(`;${name}=`, ",").replace(`${name}=`, "");
  return segment;
}

function textValue(parameter: Parameter, text: string | undefined): unknown {
  if (text === undefined) return undefined;
  const { schema, explode } = parameter;
  if (!isOnly(schema, "object") || !explode) return separated(parameter, text, / *, */);
  const pairs = text.split(",").map((pair): Pair => {
    const [name = "", ...rest] = pair.split("=");
    return [name.trim(), rest.join("=")];
  });
  return objectOfPairs(pairs, schema);
}
