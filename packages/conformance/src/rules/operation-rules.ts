// Checks the operations that a contract describes besides the create: a plant can be got, listed
// and deleted as it was created.

import { isDeepStrictEqual } from "node:util";
import { plantsPath } from "../../../../src/contract/contract.ts";
import { isObject } from "../../../../src/json/json-values.ts";
import type { Contents } from "../requests/contents.ts";
import {
  createdId,
  expectAccepted,
  expectClientError,
  expectHeader,
  expectJsonType,
  expectStatus,
  expectThat,
  plantOf,
  shorten,
  textOf,
} from "../requests/expectations.ts";
import type { RuleContext } from "../requests/rule-context.ts";
import type { HttpResponse, RequestParts } from "../wire/exchange.ts";
import { byContract, byStandard, type ConformanceRule, openapi, placesIn, rfc, rulesOf } from "./rule.ts";

const methods = { list: "GET", get: "GET", replace: "PUT", change: "PATCH", delete: "DELETE" } as const;
type Operation = keyof typeof methods;

/** The operations besides the create. */
export const otherOperations = Object.keys(methods) as Operation[];

/** The place of an operation of one resource in the description. */
export function itemPlace({ contract, collection }: Contents, operation: Operation): string {
  const start = `${collection.describedPath.replace(/\/$/, "")}/{`;
  const item = Object.keys(contract.document.paths ?? {}).find((each) => each.startsWith(start));
  return openapi(`paths.${item}.${methods[operation].toLowerCase()}`);
}

/**
 * Sends a request of an operation, with the token where it takes one.
 *
 * @param below what follows the path of the collection: the id of one resource, or a query.
 */
export function sendOperation(
  check: RuleContext,
  operation: Operation,
  below: string,
  { headers: own, ...parts }: Pick<RequestParts, "headers" | "body"> = {},
): Promise<HttpResponse> {
  const { collection } = check.contents;
  const headers = {
    // Leaves the token out of the field in which a create takes it.
    ...check.contents.credentials(null),
    ...check.contents.credentials(check.target.token, collection.operations[operation]?.access),
    ...own,
  };
  const { itemPath, operations, path } = collection;
  const target = below.startsWith("/")
    ? itemPath.replace(/\{[^{}]*\}/, () => below.slice(1))
    : (operations.list?.path ?? path) + below;
  return check.send({ method: methods[operation], path: target, ...parts, headers });
}

/** Gets a resource by its id as a segment of a path. */
export function getById(check: RuleContext, id: string): Promise<HttpResponse> {
  return sendOperation(check, "get", `/${id}`);
}

/** The condition that a resource is as it is, which an operation may require; none without a strong ETag. */
export async function ifUnchanged(check: RuleContext, id: string): Promise<Readonly<Record<string, string>>> {
  const { etag } = (await getById(check, id)).headers;
  return etag?.startsWith('"') ? { "If-Match": etag } : {};
}

/** The plants of a list, each as JSON. */
function plantsOf(contents: Contents, response: HttpResponse): readonly unknown[] {
  expectStatus(response, 200);
  expectJsonType(response);
  const json: unknown = JSON.parse(textOf(response));
  const path = plantsPath(contents.collection.list.members);
  const member = path.length === 0 ? undefined : path.join(".");
  const found = path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), json);
  expectThat(
    Array.isArray(found),
    `expected ${member === undefined ? "an array" : `an array in "${member}"`}, received ${shorten(found)}`,
  );
  return found;
}

export function operationRules(contents: Contents): readonly ConformanceRule[] {
  const { collection } = contents;
  const { operations, list } = collection;
  const createdName = contents.created?.createdName;
  const { responses, body } = placesIn(contents);
  return rulesOf(contents, "contract", {
    location: {
      applies: operations.create.status === 201,
      title: "A create that gets 201 has the plant's path as its Location.",
      required: byStandard(rfc(9110, "15.3.2")),
      run: async (check) => {
        const response = await check.create(check.plant());
        expectAccepted(response);
        const location = expectHeader(response, "Location", /./);
        const above = collection.itemPath.replace(/\{.*/, "");
        expectThat(
          location.includes(above),
          `expected a Location below ${above}, received ${shorten(location)}`,
        );
      },
    },
    get: {
      applies: operations.get !== undefined,
      title: "A plant that was created can be got, with the same members.",
      required: byContract(itemPlace(contents, "get")),
      run: async (check) => {
        const created = await check.create(check.plant("Monstera", "tropical"));
        const id = createdId(contents, created);
        const response = await getById(check, id);
        expectStatus(response, 200);
        expectJsonType(response);
        if (contents.created === undefined) return;
        expectThat(
          isDeepStrictEqual(plantOf(contents, created), plantOf(contents, response)),
          `expected ${shorten(textOf(created))}, received ${shorten(textOf(response))}`,
        );
      },
    },
    "created-time": {
      applies: createdName !== undefined,
      title: "The time of creation is that of the server's Date, give or take a minute.",
      required: byContract(responses),
      run: async (check) => {
        const response = await check.create(check.plant());
        expectAccepted(response);
        const body = plantOf(contents, response);
        const time = Date.parse(String(body[createdName ?? ""]));
        const now = Date.parse(expectHeader(response, "Date", /./));
        expectThat(
          Math.abs(time - now) < 60_000,
          `expected "${createdName}" to be the time of creation, received ${shorten(body[createdName ?? ""])}`,
        );
      },
    },
    list: {
      applies: operations.list !== undefined,
      title: "A list has as many plants as limit, and the next page has others.",
      required: byContract(openapi(`paths.${collection.describedPath}.get`)),
      run: async (check) => {
        for (let time = 0; time < 2; time++) expectAccepted(await check.create(check.plant()));
        const { limit, paging, pagingName, isPagingRequired, firstPage } = list;
        const pageOf = async (start: number | undefined) => {
          const query = new URLSearchParams(limit.isDescribed ? { [limit.name]: String(limit.minimum) } : {});
          if (start !== undefined) query.set(pagingName, String(start));
          const sent = query.size === 0 ? "" : `?${query}`;
          return plantsOf(contents, await sendOperation(check, "list", sent));
        };
        const start = { after: undefined, offset: 0, page: firstPage }[paging];
        const first = await pageOf(isPagingRequired ? start : undefined);
        expectThat(first.length > 0, "expected plants, received none");
        if (!limit.isDescribed) return;
        expectThat(
          first.length <= limit.minimum,
          `expected 1 to ${limit.minimum} plants, received ${first.length}`,
        );
        if (start === undefined) return;
        const next = start + (paging === "page" ? 1 : limit.minimum);
        expectThat(
          JSON.stringify(first) !== JSON.stringify(await pageOf(next)),
          `expected another page for ${pagingName}=${next}`,
        );
      },
    },
    delete: {
      applies: operations.delete !== undefined && operations.get !== undefined,
      title: "A plant that was deleted cannot be got any more.",
      required: byContract(itemPlace(contents, "delete")),
      run: async (check) => {
        const id = createdId(contents, await check.create(check.plant()));
        expectAccepted(await getById(check, id));
        expectAccepted(
          await sendOperation(check, "delete", `/${id}`, { headers: await ifUnchanged(check, id) }),
        );
        const gone = await getById(check, id);
        expectClientError(gone);
        expectThat(
          gone.status === 404 || gone.status === 410,
          `expected 404 or 410, received ${gone.status}`,
        );
      },
    },
    "readonly-ignored": {
      applies: collection.ignored.length > 0,
      title: "A readOnly property is not taken from a client.",
      required: byContract(body),
      run: async (check) => {
        const plain = check.plant();
        const response = await check.create(
          plain.replace(
            /\}$/,
            `${collection.ignored.map((name) => `,${JSON.stringify(name)}:"conformance"`).join("")}}`,
          ),
        );
        if (response.status >= 400) return expectClientError(response);
        expectThat(
          !textOf(response).includes('"conformance"'),
          "a readOnly property that a client sent is returned",
        );
      },
    },
  });
}
