// The documentation page and the console together: a create on the one appears in the other, which then revokes its token.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { TestBrowser } from "../../support/browser.ts";
import { revokeToken, row, searchBy } from "../../support/console-page.ts";
import { scrollToOperation, tryIt } from "../../support/documentation-page.ts";
import { post } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

let browser: TestBrowser;
beforeAll(async () => {
  browser = await TestBrowser.start();
});
afterAll(() => browser[Symbol.asyncDispose]());

test("a create on the documentation page appears in the console, and a token revoked there stops working", async () => {
  using folder = new TemporaryFolder();
  await using server = await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}` });
  const token = await server.createToken("reader of the documentation");
  await browser.visit(`${await server.adminUrl()}/console/`, {}, (console) =>
    browser.visit(`${server.url}/`, { expectedFaults: [/status of 401/] }, async (documentation) => {
      await (await scrollToOperation(documentation)).click();
      const first = '{"id": 9007199254740993, "name": "Monstera deliciosa", "tag": "tropical"}';
      expect(await tryIt(documentation, token, first, '"Monstera deliciosa"')).toContain("200");

      await console.bringToFront();
      await row(console, 9007199254740993n).waitFor();
      await searchBy(console, "Id", "9007199254740993");
      await console.getByText("1 plant with this id.").waitFor();
      expect(await row(console, 9007199254740993n).textContent()).toContain("Monstera deliciosatropical");

      await revokeToken(console, "reader of the documentation");
      const second = '{"id": 2, "name": "Ficus elastica"}';
      while ((await post({ url: server.url, token }, first)).status === 200) await Bun.sleep(50);
      await documentation.bringToFront();
      expect(await tryIt(documentation, token, second, "is not accepted")).toContain("40101");
    }),
  );
  expect((await server.command("get", "2")).exitCode).toBe(1);
});
