// The failures that the description of another contract has as examples are those that its server
// sends. Those of the Plant Store are in ../http/openapi.test.ts.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Description } from "../../../src/docs-page/description.ts";
import { send, type Target } from "../../support/http.ts";
import { RunningServer } from "../../support/server.ts";

const contract = new URL("../../contracts/parcels.yaml", import.meta.url).pathname;

let server: RunningServer;
let target: Target;
let description: Description;
beforeAll(async () => {
  server = await RunningServer.startInProcess({ args: ["--contract", contract] });
  target = await server.target();
  description = (await send(`${target.url}/openapi.json`)).json as Description;
});
afterAll(() => server[Symbol.asyncDispose]());

const parcel = { id: 1, sender: "Ada", fragile: true };

/**
 * The example's path and method in the description, its status and name, and how it is provoked.
 */
const failures = [
  ["/parcels", "post", 400, "invalidJson", "POST", "/parcels", '{"sender": }'],
  ["/parcels", "post", 400, "invalidPlant", "POST", "/parcels", '{"id": "1"}'],
  ["/parcels", "post", 400, "unstorableText", "POST", "/parcels", { ...parcel, sender: "Monst\0era" }],
  ["/parcels", "post", 400, "conflict", "POST", "/parcels", { ...parcel, fragile: false }],
  ["/parcels", "post", 404, "notFound", "GET", "/parcel", undefined],
  ["/parcels", "post", 405, "methodNotAllowed", "PUT", "/parcels", undefined],
  ["/parcels/{parcelId}", "get", 405, "methodNotAllowed", "PATCH", "/parcels/1", undefined],
  ["/parcels/{parcelId}", "put", 501, "notImplemented", "PUT", "/parcels/1", undefined],
] as const;

test.each(failures)("%s %s: %d %s", async (path, operation, status, name, method, at, body) => {
  const request = (init: RequestInit) =>
    send(target.url + at, {
      ...init,
      headers: { Authorization: `Bearer ${target.token}`, "Content-Type": "application/json" },
    });
  if (name === "conflict") await request({ method: "POST", body: JSON.stringify(parcel) });
  const sent = typeof body === "object" ? JSON.stringify(body) : body;
  const response = await request({ method, ...(sent !== undefined && { body: sent }) });
  const described = description.paths[path]?.[operation]?.responses[status];
  const example = described?.content?.["application/json"]?.examples?.[name];
  expect(response).toMatchObject({ status, json: example?.value as object });
  const allow = described?.headers?.Allow as { readonly example: string } | undefined;
  expect(response.headers.get("allow")).toBe(allow?.example ?? null);
});
