// The responses that a contract describes, as one rule holds every response of a run against them:
// the status, the media type and the schema.

import type { OpenApiDocument } from "../../core/contract/contract.ts";
import { methods } from "../../core/contract/description/described-operation.ts";
import { Place } from "../../core/contract/description/place.ts";
import { parseExactJson } from "../../core/contract/json/exact-json.ts";
import { isObject, type Json } from "../../core/contract/json/json-values.ts";
import { encodePath } from "../../core/contract/json/percent-encoding.ts";
import { describeFault, excessOf, type SchemaCheck, Work } from "../../core/contract/schema/schema-check.ts";
import { SchemaReader } from "../../core/contract/schema/schema-reader.ts";
import { OperatorError } from "../../core/operator-error.ts";
import type { Contents } from "../plants/contents.ts";
import { expectThat, shorten, textOf } from "../rules/expectations.ts";
import { isRaw, type RequestParts } from "./request-parts.ts";
import { type HttpResponse, headerOf } from "./response-parser.ts";
import { RuleViolation } from "./rule-ends.ts";
import type { ResponseCheck } from "./watch.ts";

interface DescribedResponse {
  /** The checks by their media types, in lower case; undefined for one without a schema. */
  readonly content: ReadonlyMap<string, SchemaCheck | undefined>;
}

interface DescribedOperation {
  readonly method: string;
  readonly path: string;
  readonly pattern: RegExp;
  /** By status, in capitals, such as "2XX". */
  readonly responses: ReadonlyMap<string, DescribedResponse>;
}

export class DescribedResponses implements ResponseCheck {
  readonly #path: string;
  readonly #operations: readonly DescribedOperation[];

  private constructor(path: string, operations: readonly DescribedOperation[]) {
    this.#path = path;
    this.#operations = operations;
  }

  static async read({ contract: { document }, collection: { path } }: Contents): Promise<DescribedResponses> {
    const root = Place.root(withoutWriteOnly(document) as OpenApiDocument);
    const reader = new SchemaReader();
    const operations: DescribedOperation[] = [];
    for (const [name, item] of root.at("paths").members)
      for (const method of methods) {
        const described = item.at(method, "responses");
        if (described.value === undefined) continue;
        const responses = new Map<string, DescribedResponse>();
        for (const [status, response] of described.members)
          responses.set(status.toUpperCase(), { content: await readContent(response, reader) });
        const pattern = encodePath(name)
          .split(/\{[^{}]*\}/)
          .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
        operations.push({
          method: method.toUpperCase(),
          path: name,
          pattern: new RegExp(`^${pattern.join("[^/]+")}$`),
          responses,
        });
      }
    return new DescribedResponses(path, operations);
  }

  concerns(_: HttpResponse, request: RequestParts): boolean {
    return this.#find(request) !== undefined;
  }

  /** Throws a RuleViolation that names the operation, for a response that is not as described. */
  expect(response: HttpResponse, request: RequestParts): void {
    const operation = this.#find(request);
    if (operation === undefined) return;
    const { method, path, responses } = operation;
    const { status } = response;
    const range = `${Math.trunc(status / 100)}XX`;
    const described = responses.get(String(status)) ?? responses.get(range) ?? responses.get("DEFAULT");
    const title = `${status} of ${method} ${path}`;
    if (described === undefined) {
      // A failure that is not described may have any body, and so may a success where none is.
      const isKnown = status >= 300 || ![...responses.keys()].some((each) => each.startsWith("2"));
      expectThat(isKnown, `the contract describes no ${title}`);
      return;
    }
    expectContent(response, described, title, method === "GET");
  }

  /** The operation of a request that is well-formed HTTP. */
  #find({ method = "POST", path = this.#path, ...parts }: RequestParts): DescribedOperation | undefined {
    const [target = ""] = path.split("?");
    const found = this.#operations.filter((each) => each.method === method && each.pattern.test(target));
    const exact = found.find((each) => !each.path.includes("{"));
    return isRaw(parts) ? undefined : (exact ?? found[0]);
  }
}

async function readContent(response: Place, reader: SchemaReader): Promise<DescribedResponse["content"]> {
  const content = new Map<string, SchemaCheck | undefined>();
  for (const [type, media] of response.at("content").members) {
    const schema = media.at("schema");
    const [essence = ""] = type.toLowerCase().split(";");
    try {
      content.set(essence.trim(), schema.value === undefined ? undefined : await reader.check(schema));
    } catch (error) {
      // A schema that cannot be read holds nothing against a response.
      if (!(error instanceof OperatorError)) throw error;
      content.set(essence.trim(), undefined);
    }
  }
  return content;
}

function expectContent(
  response: HttpResponse,
  { content }: DescribedResponse,
  title: string,
  isGet: boolean,
): void {
  const isEmpty = response.body.length === 0;
  if (content.size === 0) {
    const isFree = isEmpty || isGet || response.status >= 400;
    expectThat(isFree, `the contract describes no body for the ${title}, which has one`);
    return;
  }
  const [type = ""] = (headerOf(response, "content-type") ?? "").toLowerCase().split(";");
  const known = [...content.keys()].find((each) => matches(each, type.trim()));
  expectThat(
    known !== undefined,
    `expected the ${title} to be ${[...content.keys()].join(" or ")}, received ${shorten(type.trim() || "none")}`,
  );
  const check = content.get(known);
  if (check === undefined || !/json/.test(type)) return;
  const fault = faultOf(check, textOf(response));
  if (fault !== undefined)
    throw new RuleViolation(`in the ${title} ${fault}, received ${shorten(textOf(response))}`);
}

function matches(described: string, type: string): boolean {
  return (
    described === type ||
    described === "*/*" ||
    (described.endsWith("/*") && type.startsWith(described.slice(0, -1)))
  );
}

function faultOf(check: SchemaCheck, json: string): string | undefined {
  try {
    const fault = check.fault(parseExactJson(json), new Work());
    return fault && describeFault(fault);
  } catch (error) {
    if (error instanceof SyntaxError) return "the body must be JSON";
    // It is not known whether the value is accepted.
    if (excessOf(error) !== undefined) return undefined;
    throw error;
  }
}

/** A description whose schemas do not require what no response has. */
function withoutWriteOnly(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutWriteOnly);
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value)) copy[name] = withoutWriteOnly(each);
  const { required, properties } = value;
  if (Array.isArray(required) && isObject(properties))
    copy.required = required.filter((name) => (properties[name] as Json | undefined)?.writeOnly !== true);
  return copy;
}
