// The output of a start, with and without a first token.

import { expect, test } from "bun:test";
import type { Collection } from "../../../src/contract/contract.ts";
import { bannerLines, plainLines, type StartedServer } from "../../../src/process/banner.ts";
import { plantStore } from "../../support/contracts.ts";

const server: StartedServer = {
  contract: plantStore,
  version: "1.2.3",
  url: "http://127.0.0.1:8080",
  adminUrl: "http://127.0.0.1:8081",
  publicUrl: undefined,
  documentationUrl: "http://127.0.0.1:8080/",
  consoleUrl: "http://127.0.0.1:8081/console/",
  store: "/srv/plantstore.db",
  changed: ["--port 9000", "--log-level warn"],
};
const token = `pst_${"x".repeat(43)}`;
const colours = false;

test("a later start is seven lines: the version, the addresses, the store, the settings", () => {
  expect(bannerLines(server, undefined, colours)).toEqual([
    "",
    "Plant Store 1.2.3",
    "",
    "  Interface      http://127.0.0.1:8080/plants",
    "  Documentation  http://127.0.0.1:8080/",
    "  Console        http://127.0.0.1:8081/console/",
    "  Store          /srv/plantstore.db",
    "  Settings       --port 9000 --log-level warn",
    "",
  ]);
});

test("the first start adds the token and a command; no line but that of the fields is longer than 80 columns", () => {
  const lines = bannerLines(server, token, colours);
  expect(lines).toContain(`  ${token}`);
  expect(lines.join("\n")).toContain(
    `curl -i -w '\\n' http://127.0.0.1:8080/plants \\\n  -H 'Authorization: Bearer ${token}' \\`,
  );
  const others = lines.filter((line) => !line.startsWith("  -d "));
  expect(Math.max(...others.map((line) => line.length))).toBeLessThanOrEqual(80);
});

test("a create that needs no token is shown without it", () => {
  const [plants] = plantStore.collections as [Collection];
  const access = { bearer: false, keyHeader: undefined, isOpen: true };
  const create = { ...plants.operations.create, access };
  const collections = [{ ...plants, operations: { ...plants.operations, create } }];
  const lines = plainLines({ ...server, contract: { ...plantStore, collections } }, token);
  expect(lines).toContain("Create a plant without it, in another terminal:");
  expect(lines.join("\n")).not.toContain("Authorization");
});

test("what is disabled is off, and a public URL is shown", () => {
  const bare = {
    ...server,
    documentationUrl: undefined,
    consoleUrl: undefined,
    publicUrl: "https://plants.example",
  };
  const lines = bannerLines(bare, undefined, colours);
  expect(lines).toContain("  Public URL     https://plants.example");
  expect(lines).toContain("  Documentation  off");
  expect(lines).toContain("  Console        off");
});

test("a path cannot write escape sequences", () => {
  const hostile = { ...server, store: "/srv/\x1b[31m-é.db" };
  const lines = bannerLines(hostile, undefined, colours);
  expect(lines).toContain("  Store          /srv/\\u001b[31m-é.db");
});

test("a program reads the URL in the first line", () => {
  expect(plainLines(server, undefined)).toEqual(["http://127.0.0.1:8080"]);
  expect(plainLines(server, token)[0]).toBe("http://127.0.0.1:8080");
});
