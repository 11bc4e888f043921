// Which operation a path of a request is for.

import { expect, test } from "bun:test";
import type { Method, OperationRow } from "../../../src/http/operation.ts";
import { routerOf } from "../../../src/http/router.ts";
import { plantStore } from "../../support/contracts.ts";

function routerOfPaths(rows: readonly string[], basePath = "", unserved: readonly string[] = []) {
  const operations = [...rows, ...unserved].map((row): OperationRow => {
    const [method, path = ""] = row.split(" ");
    return { operationId: row, method: method as Method, path, isServed: rows.includes(row), advice: "" };
  });
  const find = routerOf(operations, basePath, plantStore);
  return (method: string, path: string) => {
    const route = find(method, path);
    if (route.operation !== undefined) return [route.operation.operationId, route.segments];
    const { code, details } = route.error;
    return details.allow === undefined ? code : [code, details.allow];
  };
}

test("a fixed path goes before a parameter, and a segment with text before one without", () => {
  const find = routerOfPaths([
    "GET /{kind}/{id}",
    "GET /things/{id}",
    "GET /things/{id}.pdf",
    "GET /things/{id}.tar.gz",
    "GET /things/{id}.gz",
    "GET /things/count",
    "POST /things/{id}:cancel",
    "GET /notes({id})",
    "GET /notes",
    "GET /files/v{version}-{name}.{ext}",
    "GET /reports/{id}",
    "GET /reports/{year}-{month}",
    "GET /mixed/{a}{b}",
    "GET /a/{id}/c",
    "GET /{any}/b/d",
  ]);
  for (const [path, operation, segments] of [
    ["/things/count", "GET /things/count", {}],
    ["/things/5", "GET /things/{id}", { id: "5" }],
    ["/things/5.pdf", "GET /things/{id}.pdf", { id: "5" }],
    ["/things/5.pdf.pdf", "GET /things/{id}.pdf", { id: "5.pdf" }],
    ["/things/.pdf", "GET /things/{id}", { id: ".pdf" }],
    ["/things/5.tar.gz", "GET /things/{id}.tar.gz", { id: "5" }],
    ["/things/5.gz", "GET /things/{id}.gz", { id: "5" }],
    ["/things/5%2Epdf", "GET /things/{id}.pdf", { id: "5" }],
    ["/things/a%2Fb%3F%25", "GET /things/{id}", { id: "a/b?%" }],
    ["/things/5:cancel", "GET /things/{id}", { id: "5:cancel" }],
    ["/notes(7)", "GET /notes({id})", { id: "7" }],
    ["/notes", "GET /notes", {}],
    [
      "/files/v1-a-b.tar.gz",
      "GET /files/v{version}-{name}.{ext}",
      { version: "1", name: "a-b", ext: "tar.gz" },
    ],
    ["/files/1-a.gz", "GET /{kind}/{id}", { kind: "files", id: "1-a.gz" }],
    ["/reports/2024-05-06", "GET /reports/{year}-{month}", { year: "2024", month: "05-06" }],
    ["/reports/2024", "GET /reports/{id}", { id: "2024" }],
    ["/mixed/xyz", "GET /mixed/{a}{b}", { a: "x", b: "yz" }],
    ["/a/b/c", "GET /a/{id}/c", { id: "b" }],
    ["/a/b/d", "GET /{any}/b/d", { any: "a" }],
  ] as const)
    expect([path, find("GET", path)]).toEqual([path, [operation, segments]]);
  expect(find("POST", "/things/5:cancel")).toEqual(["POST /things/{id}:cancel", { id: "5" }]);
  for (const path of ["/things/", "/notes()", "/notes(7", "/a/b/c/d", "/things/5/", "*", "//things/5"])
    expect([path, find("GET", path)]).toEqual([path, "notFound"]);
});

test("characters with a meaning in patterns stand for themselves, and names of parameters may have any", () => {
  const find = routerOfPaths([
    "GET /a*b/{x-y.z}",
    "GET /a%3Ab:c/{size%C3%A4}",
    "GET /{x}+{x}$",
    "GET /?{q}/(x)[y]^|",
  ]);
  expect(find("GET", "/a*b/1")).toEqual(["GET /a*b/{x-y.z}", { "x-y.z": "1" }]);
  expect(find("GET", "/azb/1")).toBe("notFound");
  expect(find("GET", "/a%3ab:c/1")).toEqual(["GET /a%3Ab:c/{size%C3%A4}", { sizeä: "1" }]);
  expect(find("GET", "/a:b:c/1")).toBe("notFound");
  expect(find("GET", "/1+2$")).toEqual(["GET /{x}+{x}$", { x: "2" }]);
});

test("HEAD is GET unless it is described, and 405 lists all methods of a path", () => {
  const find = routerOfPaths(
    ["GET /things/{id}", "PUT /things/{key}", "PATCH /things/{id}", "HEAD /files/{id}", "DELETE /files/{id}"],
    "/v%31",
  );
  expect(find("HEAD", "/v1/things/1")).toEqual(["GET /things/{id}", { id: "1" }]);
  expect(find("HEAD", "/%761/files/1")).toEqual(["HEAD /files/{id}", { id: "1" }]);
  expect(find("POST", "/v1/things/1")).toEqual(["methodNotAllowed", "GET, HEAD, PUT, PATCH"]);
  expect(find("TRACE", "/v1/files/1")).toEqual(["methodNotAllowed", "HEAD, DELETE"]);
  expect(find("GET", "/things/1")).toBe("notFound");
});

test("405 offers only what is served, and a path with nothing else is not found", () => {
  const find = routerOfPaths(["GET /a"], "", ["PUT /a", "PUT /b"]);
  expect(find("PATCH", "/a")).toEqual(["methodNotAllowed", "GET, HEAD"]);
  expect(find("PUT", "/a")).toEqual(["PUT /a", {}]);
  expect(find("PATCH", "/b")).toBe("notFound");
});

test("of two paths that differ in the names of parameters alone, the first is found", () => {
  const find = routerOfPaths(["GET /a/{x}", "GET /a/{y}", "GET /b/{x}-{y}", "GET /b/{z}-{u}"]);
  expect(find("GET", "/a/1")).toEqual(["GET /a/{x}", { x: "1" }]);
  expect(find("GET", "/b/1-2")).toEqual(["GET /b/{x}-{y}", { x: "1", y: "2" }]);
});

test.each(["%FF", "%zz", "%", "a%C3", "%C0%AF"])("the malformed percent-encoding %s is no id", (text) => {
  const find = routerOfPaths(["GET /things/{id}", "GET /things/{id}.pdf", "GET /things/%FF"]);
  expect(find("GET", `/things/x${text}`)).toBe("invalidParameter");
  expect(find("GET", `/things/x${text}.pdf`)).toBe("invalidParameter");
  expect(find("GET", `/other/${text}`)).toBe("notFound");
});

test("several parameters in a segment take linear time", () => {
  const find = routerOfPaths(["GET /{a}-{b}-{c}-{d}-{e}-{f}.json"]);
  expect(find("GET", `/${"-".repeat(100_000)}`)).toBe("notFound");
});

test("what looks like a token in a path is neither in a message nor in the log", () => {
  const operation: OperationRow = {
    operationId: "get",
    method: "GET",
    path: "/plants/{id}",
    isServed: true,
    advice: "",
  };
  const find = routerOf([operation], "", plantStore);
  const jwt = `eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.${"s".repeat(86)}`;
  for (const token of [`pst_${"a-_9".repeat(11)}`, jwt, jwt.slice(0, -87)])
    for (const path of [`/plants/${token}`, `/${token}/x`]) {
      const route = find("GET", path);
      const shown = `${token.slice(0, 4)}…`;
      expect(route.path).toBe(path.replace(token, shown));
      if (route.operation === undefined) expect(route.error.message).toContain(`/${shown}/x`);
      else expect(route.segments).toEqual({ id: token });
    }
});
