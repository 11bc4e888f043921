// The documentation page in Chromium: its content, and creates through "Test Request".

import { afterAll, beforeAll, expect, test } from "bun:test";
import { errorRegistry } from "../../../src/contract/errors.ts";
import { accessibilityFaults, TestBrowser, takePicture } from "../../support/browser.ts";
import { scrollToOperation, shown, tryIt } from "../../support/documentation-page.ts";
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
    await takePicture(page, "documentation-page-answer");

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
  await browser.takePictures(`${server.url}/`, "documentation-page", async (page) => {
    await scrollToOperation(page);
    const violations = await accessibilityFaults(page);
    expect(violations.filter((violation) => !knownViolation.test(violation))).toEqual([]);
    const text = await page.getByRole("main").innerText();
    expect(text).toContain(server.url);
    for (const { error } of Object.values(errorRegistry)) expect(text).toContain(String(error));
    await page.evaluate("scrollTo(0, 0)");
  });
});
