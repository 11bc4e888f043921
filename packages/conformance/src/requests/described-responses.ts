// Holds every response of a run against what the contract describes: the status, the media type and
// the schema.

import { describeFault, excessOf, type SchemaCheck, Work } from "../../../../src/contract/schema-check.ts";
import { parseExactJson } from "../../../../src/json/exact-json.ts";
import { encodePath } from "../../../../src/json/percent-encoding.ts";
import {
  matchesMedia,
  methods,
  responseAt,
} from "../../../../src/openapi/description/described-operation.ts";
import { Place, readableAsync } from "../../../../src/openapi/document/place.ts";
import { SchemaReader } from "../../../../src/openapi/schema/schema-reader.ts";
import type { ResponseCheck } from "../failures/watch.ts";
import type { HttpResponse, RequestParts } from "../wire/exchange.ts";
import { RuleViolation } from "../wire/rule-ends.ts";
import type { Contents } from "./contents.ts";
import { expectThat, expectUtf8, shorten, textOf } from "./expectations.ts";

interface DescribedOperation {
  readonly method: string;
  readonly path: string;
  readonly pattern: RegExp;
  readonly place: Place;
}

export class DescribedResponses implements ResponseCheck {
  readonly #path: string;
  readonly #operations: DescribedOperation[] = [];
  /** The checks of media types by their pointers; none for a schema that is missing or cannot be read. */
  readonly #checks = new Map<string, SchemaCheck>();

  private constructor({ collection: { path } }: Contents) {
    this.#path = path;
  }

  static async read(contents: Contents): Promise<DescribedResponses> {
    const described = new DescribedResponses(contents);
    const root = Place.root(contents.contract.document);
    const reader = new SchemaReader("response");
    for (const [path, item] of root.at("paths").members)
      for (const method of methods)
        if (item.at(method, "responses").value !== undefined)
          await described.#add(item.at(method), method.toUpperCase(), path, reader);
    return described;
  }

  async #add(place: Place, method: string, path: string, reader: SchemaReader): Promise<void> {
    for (const [, response] of place.at("responses").members)
      for (const [, media] of response.at("content").members) {
        const schema = media.at("schema");
        if (schema.value === undefined) continue;
        const check = await readableAsync(() => reader.check(schema));
        if (check !== undefined) this.#checks.set(media.pointer, check);
      }
    const literals = encodePath(path)
      .split(/\{[^{}]*\}/)
      .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
    this.#operations.push({ method, path, pattern: new RegExp(`^${literals.join("[^/]+")}$`), place });
  }

  concerns(_: HttpResponse, request: RequestParts): boolean {
    return this.#find(request) !== undefined;
  }

  /** Throws a RuleViolation that names the operation, for a response that is not as described. */
  expect(response: HttpResponse, request: RequestParts): void {
    const operation = this.#find(request);
    if (operation === undefined) return;
    const { method, path, place } = operation;
    const { status } = response;
    const described = responseAt(place, status);
    const title = `${status} of ${method} ${path}`;
    if (described === undefined) {
      // A failure that is not described may have any body, and so may a success where none is.
      const isKnown = status >= 300 || !place.at("responses").members.some(([each]) => each.startsWith("2"));
      expectThat(isKnown, `the contract describes no ${title}`);
      return;
    }
    const content = described.at("content").members;
    if (content.length === 0) {
      const isFree = response.body.length === 0 || method === "GET" || status >= 400;
      expectThat(isFree, `the contract describes no body for the ${title}, which has one`);
      return;
    }
    const [type = ""] = (response.headers["content-type"] ?? "").toLowerCase().split(";");
    const media = content.find(([range]) => matchesMedia(type, range))?.[1];
    expectThat(
      media !== undefined,
      `expected the ${title} to be ${content.map(([range]) => range).join(" or ")}, received ${shorten(type.trim() || "none")}`,
    );
    if (!/json/.test(type)) return;
    expectUtf8(response);
    const check = this.#checks.get(media.pointer);
    if (check === undefined) return;
    const fault = faultOf(check, textOf(response));
    if (fault !== undefined)
      throw new RuleViolation(`in the ${title} ${fault}, received ${shorten(textOf(response))}`);
  }

  /** The operation of a request. */
  #find({ method = "POST", path = this.#path }: RequestParts): DescribedOperation | undefined {
    const [target = ""] = path.split("?");
    const found = this.#operations.filter((each) => each.method === method && each.pattern.test(target));
    return found.find((each) => !each.path.includes("{")) ?? found[0];
  }
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
