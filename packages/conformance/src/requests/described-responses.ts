// Holds every response of a run against what the contract describes: the status, the media type and
// the schema.

import { describeFault, excessOf, type SchemaCheck, Work } from "../../../../src/contract/schema-check.ts";
import { parseExactJson } from "../../../../src/json/exact-json.ts";
import { encodePath } from "../../../../src/json/percent-encoding.ts";
import {
  type DescribedOperation,
  describedOperations,
  matchesMedia,
  responseAt,
  titleOf,
} from "../../../../src/openapi/description/described-operation.ts";
import { Place, readableAsync } from "../../../../src/openapi/document/place.ts";
import { SchemaReader } from "../../../../src/openapi/schema/schema-reader.ts";
import type { ResponseCheck } from "../failures/watch.ts";
import type { HttpResponse, RequestParts } from "../wire/exchange.ts";
import { RuleViolation } from "../wire/rule-ends.ts";
import type { Contents } from "./contents.ts";
import { expectThat, expectUtf8, shorten, textOf } from "./expectations.ts";

export class DescribedResponses implements ResponseCheck {
  readonly #path: string;
  readonly #operations: (DescribedOperation & { readonly pattern: RegExp })[] = [];
  /** The checks of media types by their pointers; none for a schema that is missing or cannot be read. */
  readonly #checks = new Map<string, SchemaCheck>();

  private constructor({ collection: { path } }: Contents) {
    this.#path = path;
  }

  static async read(contents: Contents): Promise<DescribedResponses> {
    const described = new DescribedResponses(contents);
    const reader = new SchemaReader("response");
    for (const operation of describedOperations(Place.root(contents.contract.document)))
      if (operation.place.at("responses").value !== undefined) await described.#add(operation, reader);
    return described;
  }

  async #add(operation: DescribedOperation, reader: SchemaReader): Promise<void> {
    const { place, path } = operation;
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
    this.#operations.push({ ...operation, pattern: new RegExp(`^${literals.join("[^/]+")}$`) });
  }

  concerns(_: HttpResponse, request: RequestParts): boolean {
    return this.#find(request) !== undefined;
  }

  /** Throws a RuleViolation that names the operation, for a response that is not as described. */
  expect(response: HttpResponse, request: RequestParts): void {
    const operation = this.#find(request);
    if (operation === undefined) return;
    const { place, method } = operation;
    const { status } = response;
    const described = responseAt(place, status);
    const title = `${status} of ${titleOf(operation)}`;
    if (described === undefined) {
      // A failure that is not described may have any body, and so may a success where none is.
      const isKnown = status >= 300 || !place.at("responses").members.some(([each]) => each.startsWith("2"));
      expectThat(isKnown, `the contract describes no ${title}`);
      return;
    }
    const content = described.at("content").members;
    if (content.length === 0) {
      const isFree = response.body.length === 0 || method === "get" || status >= 400;
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
    const fault = schemaFault(check, textOf(response));
    if (fault !== undefined)
      throw new RuleViolation(`in the ${title} ${fault}, received ${shorten(textOf(response))}`);
  }

  /** The operation of a request. */
  #find({ method = "POST", path = this.#path }: RequestParts): DescribedOperation | undefined {
    const [target = ""] = path.split("?");
    const found = this.#operations.filter(
      (each) => each.method === method.toLowerCase() && each.pattern.test(target),
    );
    return found.find((each) => !each.path.includes("{")) ?? found[0];
  }
}

function schemaFault(check: SchemaCheck, json: string): string | undefined {
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
