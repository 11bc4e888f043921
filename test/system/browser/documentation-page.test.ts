// The documentation page in Chromium: its content, creates through "Test Request", and the console beside it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { errorRegistry } from "../../../src/contract/errors.ts";
import { accessibilityFaults, TestBrowser } from "../../support/browser.ts";
import { revokeToken, row, searchFor } from "../../support/console-page.ts";
import { scrollToOperation, shown, tryIt } from "../../support/documentation-page.ts";
import { post } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const resources = new AsyncDisposableStack();
let browser: TestBrowser;
let server: RunningServer;
let token: string;
beforeAll(async () => {
  browser = resources.use(await TestBrowser.start());
  const folder = resources.use(new TemporaryFolder());
  server = resources.use(
    await RunningServer.start({
      database: `sqlite:${folder.file("plants.db")}`,
      args: ["--base-path", "/v1"],
    }),
  );
  token = await server.createToken();
});
afterAll(() => resources.disposeAsync());

test("creates plants exactly as typed, shows why a token is rejected, and stores no token", async () => {
  const hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}";
  await browser.visit(`${server.url}/`, { expectedFaults: [/status of 401/] }, async (page) => {
    const alerts: string[] = [];
    page.on("dialog", (alert) => {
      alerts.push(alert.message());
      return alert.dismiss();
    });
    await (await scrollToOperation(page)).click();
    const rejected = await tryIt(page, "pst_wrong", '{"id": 401, "name": "Refused"}', "is not accepted");
    expect(rejected).toContain("40101");

    const exact = '{"id": 9007199254740993, "name": "Monstera deliciosa", "tag": "tropical"}';
    expect(await tryIt(page, token, exact, '"Monstera deliciosa"')).toContain("200");

    const response = await tryIt(page, token, JSON.stringify({ id: 99, name: hostile }), "onerror");
    expect(response).toContain(hostile);
    expect(alerts).toEqual([]);
    expect(await page.locator('img[src="x"]').count()).toBe(0);

    const stored = await page.evaluate(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])",
    );
    expect(stored).not.toContain(token);
  });
  const { stdout } = await server.command("get", "9007199254740993");
  expect(stdout).toBe('{"id":9007199254740993,"name":"Monstera deliciosa","tag":"tropical"}\n');
  expect((await server.command("get", "99")).stdout).toBe(`${JSON.stringify({ id: 99, name: hostile })}\n`);
  expect((await server.command("get", "401")).exitCode).toBe(1);
});

test("is the same at the base address without a slash at its end", async () => {
  await browser.visit(server.url, {}, shown);
});

/** A violation in Scalar: its buttons that open code boxes have no accessible name. */
const knownViolation = /^button-name: button\[aria-controls="scalar-/;

test("shows this server's address and every error code, without serious accessibility violations, in light, dark and narrow", async () => {
  await browser.visitInEveryLook(`${server.url}/`, async (page) => {
    await scrollToOperation(page);
    const violations = await accessibilityFaults(page);
    expect(violations.filter((violation) => !knownViolation.test(violation))).toEqual([]);
    const text = await page.getByRole("main").innerText();
    expect(text).toContain(server.url);
    for (const { error } of Object.values(errorRegistry)) expect(text).toContain(String(error));
  });
});

test("a create on the documentation page appears in the console, and a token revoked there stops working", async () => {
  const reader = await server.createToken("reader of the documentation");
  await browser.visit(`${await server.adminUrl()}/console/`, {}, (console) =>
    browser.visit(`${server.url}/`, { expectedFaults: [/status of 401/] }, async (documentation) => {
      await (await scrollToOperation(documentation)).click();
      const first = '{"id": 9007199254740995, "name": "Calathea orbifolia", "tag": "tropical"}';
      expect(await tryIt(documentation, reader, first, '"Calathea orbifolia"')).toContain("200");

      await console.bringToFront();
      await row(console, 9007199254740995n).waitFor();
      await searchFor(console, "9007199254740995");
      await console.getByText("The plant with the id 9007199254740995.").waitFor();
      expect(await row(console, 9007199254740995n).textContent()).toContain("Calathea orbifoliatropical");

      await revokeToken(console, "reader of the documentation");
      const second = '{"id": 2, "name": "Ficus elastica"}';
      while ((await post({ url: server.url, token: reader }, first)).status === 200) await Bun.sleep(50);
      await documentation.bringToFront();
      expect(await tryIt(documentation, reader, second, "is not accepted")).toContain("40101");
    }),
  );
  expect((await server.command("get", "2")).exitCode).toBe(1);
});
