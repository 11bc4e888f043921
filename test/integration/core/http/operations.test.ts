// What every operation has: credentials, HEAD, Allow, CORS and a description.

import { expect, test } from "bun:test";
import openapi from "../../../../openapi.yaml";
import { createPlantOperation } from "../../../../src/core/http/create-plant.ts";
import { send } from "../../../support/http.ts";
import { differences } from "./described-responses.ts";
import { describeConformance } from "./targets.ts";

const operations = [createPlantOperation];

const described = openapi as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
};

test("openapi.yaml describes the operations of the table, and no others", () => {
  const ofTable = operations.map(({ method, path }) => `${method} ${path}`);
  const ofDescription = Object.entries(described.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(ofDescription).toEqual(ofTable);
});

describeConformance("operations", (target) => {
  const origin = { Origin: "https://docs.example" };
  const authorized = () => ({ ...origin, Authorization: `Bearer ${target().token}` });
  const paths = [...new Set(operations.map(({ path }) => path))];
  const methodsOf = (path: string) =>
    operations
      .filter((operation) => operation.path === path)
      .flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : method));
  /** A path with the parameters of a plant that is not stored. */
  const example = (path: string) => path.replaceAll(/\{\w+\}/g, "-77");

  test.each(operations.map(({ method, path }) => [method, path]))(
    "%s %s needs a token, and pages can read its responses",
    async (method, path) => {
      for (const headers of [origin, authorized()]) {
        const response = await send(target().url + example(path), { method, headers });
        expect(response.headers.get("access-control-allow-origin")).toBe("*");
        expect(response.headers.get("x-request-id")).not.toBeNull();
        if (headers === origin) expect(response).toMatchObject({ status: 401, json: { error: 40100 } });
        expect(differences(response, { method, path: example(path) })).toEqual([]);
      }
      const preflight = await send(target().url + example(path), {
        method: "OPTIONS",
        headers: { ...origin, "Access-Control-Request-Method": method },
      });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get("access-control-allow-methods")?.split(", ")).toContain(method);
    },
  );

  test.each(paths)("%s has the methods that Allow names, and HEAD where it has GET", async (path) => {
    const offered = methodsOf(path);
    for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const response = await send(target().url + example(path), { method, headers: authorized() });
      if (offered.includes(method)) expect(response.status).not.toBe(405);
      else {
        expect(response.status).toBe(405);
        expect(response.headers.get("allow")).toBe(offered.join(", "));
      }
    }
  });
});
