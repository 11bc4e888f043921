// A service with other fields, as the guide describes it: books with a required title and author, an
// integer, a price with two digits and a required boolean, without a group, on SQLite and PostgreSQL.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../support/eventually.ts";
import { send } from "../../support/http.ts";
import { codeBlocks } from "../../support/markdown.ts";
import { succeed } from "../../support/npm-packages.ts";
import { acceptsConnections, reservePort } from "../../support/ports.ts";
import { sharedPostgres } from "../../support/postgres.ts";
import { describeIfInstalled } from "../../support/programs.ts";
import { copyPackages, copyRepository } from "../../support/repository-copy.ts";
import { runIn, TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const guide = readFileSync(join(root, "docs/guides/start-your-own-service.md"), "utf8");

const resource = `// What the service stores.

import { boolean, decimal, int32, text } from "./field-types.ts";
import { defineResource, optional, required } from "./resource-definition.ts";

export const resource = defineResource({
  fields: {
    title: required(text(), "Dune"),
    author: required(text(), "Frank Herbert"),
    pages: optional(int32(), 612),
    price: optional(decimal(2), "19.90"),
    in_print: required(boolean(), true),
  },
  title: "title",
});
`;

const setupMsMax = 300_000;

describeIfInstalled("git", "books", () => {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  const copy = folder.file("copy");
  let postgres: string;

  beforeAll(async () => {
    await copyRepository(copy);
    await copyPackages(copy);
    await succeed(copy, ["npm", "run", "rename", "--", "book", "books"]);
    await succeed(copy, ["git", "add", "--all"]);
    await succeed(copy, ["git", "commit", "--quiet", "--message", "Rename"]);
    writeFileSync(join(copy, "src/core/contract/resource.ts"), resource);
    const product = join(copy, "src/product.ts");
    const words = readFileSync(product, "utf8")
      .replace(/editedDemoBook: Book = .*;/, "editedDemoBook: Book = sample({ pages: 613 });")
      .replace(/demoBooks: readonly Book\[\] = [^;]*;/, "demoBooks: readonly Book[] = [sample(), sample()];")
      .replace("import type { Book } from", "import { type Book, sample } from");
    writeFileSync(product, words);
    for (const { heading, language, text } of codeBlocks(guide).filter(
      ({ heading }) => heading === "Add an operation",
    )) {
      const [kind, path = ""] = language.split(" ");
      if (kind === "ts") writeFileSync(join(copy, path), text);
      else if ((await runIn(copy, ["git", "apply", "-"], text)).exitCode !== 0)
        throw new Error(`a diff of "${heading}" does not apply`);
    }
    await succeed(copy, ["npm", "run", "generate"]);
    postgres = (await resources.use(await sharedPostgres()).newDatabase()).address;
  }, setupMsMax);
  afterAll(() => resources.disposeAsync());

  test(
    "after the rename at most 12 files change, and the source and the page of the console compile",
    async () => {
      await succeed(copy, ["git", "add", "--all"]);
      const changed = (await succeed(copy, ["git", "diff", "--cached", "--name-only"])).trim().split("\n");
      expect(changed.toSorted()).toEqual([
        "openapi.yaml",
        "packages/client/src/book-fields.ts",
        "packages/sandbox/src/control-types.ts",
        "src/core/contract/resource.ts",
        "src/product.ts",
        "src/sample-operations/get-book.ts",
        "src/sample-operations/index.ts",
        "src/sandbox/openapi-control.yaml",
      ]);
      const ofSource = { extends: "./tsconfig.json", include: ["src", "packages"] };
      writeFileSync(join(copy, "tsconfig.source.json"), JSON.stringify(ofSource));
      await succeed(copy, ["node_modules/.bin/tsc", "-p", "tsconfig.source.json"]);
      await succeed(copy, ["node_modules/.bin/tsc", "-p", "src/console/page"]);
    },
    setupMsMax,
  );

  test.each(["sqlite", "postgres"])(
    "are created, listed, returned and deleted on %s",
    async (engine) => {
      const database = engine === "postgres" ? postgres : `sqlite:${folder.file("books.db")}`;
      const command = (...args: string[]) =>
        succeed(copy, ["bin/bookstore", ...args, "--database", database]);
      await command("migrate");
      const token = (await command("token", "create", "--name", "me")).trim();
      const port = reservePort();
      const listening = ["--port", String(port), "--admin-port", "off"];
      const operations = ["--operations", "create,list,delete,get"];
      const serve = ["bin/bookstore", "serve", ...listening, ...operations, "--database", database];
      const server = Bun.spawn(serve, { cwd: copy, stdout: "ignore", stderr: "ignore" });
      try {
        const url = `http://127.0.0.1:${port}`;
        await eventually("the server listens", () => acceptsConnections(port));
        const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
        const request = (method: string, path: string, body?: string) =>
          send(url + path, { method, headers, ...(body !== undefined && { body }) });
        const dune = '"title":"Dune","author":"Frank Herbert","pages":612,"price":19.90,"in_print":true}';
        const emma = '"title":"Emma","author":"Jane Austen","in_print":false}';
        expect(await request("POST", "/books", `{"id":9007199254740993,${dune}`)).toMatchObject({
          status: 200,
          text: `{${dune}`,
        });
        expect(
          (await request("POST", "/books", `{"id":9007199254740993,${dune.replace("19.90", "19.9")}`)).status,
        ).toBe(200);
        expect((await request("POST", "/books", `{"id":9007199254740993,${emma}`)).json).toMatchObject({
          error: 40009,
        });
        expect((await request("POST", "/books", `{"id":2,${emma}`)).status).toBe(200);
        expect((await request("GET", "/books")).text).toBe(`[{${emma},{${dune}]`);
        expect((await request("GET", "/books/9007199254740993")).text).toBe(`{${dune}`);
        const invalid = '{"id":3,"title":"Emma","pages":2147483648,"price":1.999,"in_print":"no"}';
        const { message } = (await request("POST", "/books", invalid)).json as { message: string };
        for (const field of ["author", "pages", "price", "in_print"]) expect(message).toContain(`"${field}"`);
        expect((await request("DELETE", "/books/2")).status).toBe(204);
        expect((await request("GET", "/books/2")).status).toBe(404);
        const page = await (await fetch(url)).text();
        for (const operationId of ["listBooks", "deleteBook", "getBook"])
          expect(page).toContain(`data-response="${operationId}-response"`);
        expect(page).toContain("&quot;price&quot;: 19.9");
        expect(await command("export", "--format", "csv")).toBe(
          "id,title,author,pages,price,in_print\n9007199254740993,Dune,Frank Herbert,612,19.90,true\n",
        );
        const rules = ["--basis", "contract,decision"];
        await succeed(copy, ["bin/bookstore", "conformance", "--url", url, "--token", token, ...rules]);
      } finally {
        server.kill();
        await server.exited;
      }
    },
    setupMsMax,
  );
});
