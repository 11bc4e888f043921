// The documentation page in Chromium: its content, and creates through its form.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { accessibilityFaults, type Page, TestBrowser } from "../../support/browser.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { eventually } from "../../support/eventually.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer } from "../../support/server.ts";

const resources = new AsyncDisposableStack();
const browser = resources.use(new TestBrowser());
let server: RunningServer;
let token: string;
beforeAll(async () => {
  server = resources.use(await RunningServer.startInProcess({ args: ["--base-path", "/v1"] }));
  token = await server.createToken();
});
afterAll(() => resources.disposeAsync());

/** Waits until the page can send the request. */
async function shown(page: Page): Promise<void> {
  await page.getByRole("heading", { name: "Plant Store", level: 1 }).waitFor();
  // The script has added this button.
  await page.getByRole("button", { name: "Copy" }).first().waitFor();
}

/** Sends a body with a token, and gives the text of the response once it holds `awaited`. */
async function tryIt(page: Page, bearer: string, body: string, awaited: string): Promise<string> {
  await page.getByLabel("Bearer token").fill(bearer);
  await page.getByLabel("Body").fill(body);
  await page.getByRole("button", { name: "Send request" }).click();
  const response = page.getByRole("region", { name: "Response", exact: true });
  await response.getByText(awaited).first().waitFor();
  return response.innerText();
}

test("creates plants exactly as typed, shows why a token is rejected, and stores no token", async () => {
  const hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}";
  await browser.visit(`${server.url}/`, { expectedFaults: [/status of 401/] }, async (page) => {
    const alerts: string[] = [];
    page.on("dialog", (alert) => {
      alerts.push(alert.message());
      return alert.dismiss();
    });
    await shown(page);
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

test("five presses of Tab on the first screen reach the button, and without a token the response is the server's 40100", async () => {
  await browser.visit(`${server.url}/`, { expectedFaults: [/status of 401/] }, async (page) => {
    await shown(page);
    const send = page.getByRole("button", { name: "Send request" });
    const { y = Number.POSITIVE_INFINITY, height = 0 } = (await send.boundingBox()) ?? {};
    expect(y + height).toBeLessThan(page.viewportSize()?.height ?? 0);
    let presses = 0;
    do {
      await page.keyboard.press("Tab");
      presses += 1;
    } while (
      !(await send.evaluate((button) => button === button.ownerDocument.activeElement)) &&
      presses < 6
    );
    expect(presses).toBeLessThanOrEqual(5);
    await page.keyboard.press("Enter");
    const response = page.getByRole("region", { name: "Response", exact: true });
    await response.getByText("401 Unauthorized").waitFor();
    expect(await response.innerText()).toContain(
      '{"error":40100,"message":"The request carries no bearer token; send the header Authorization: Bearer <ACCESS_TOKEN>."}',
    );
    await response.getByRole("link", { name: "What 40100 means" }).click();
    expect(await page.locator("tr:target").innerText()).toContain("No token");
  });
});

test("Ctrl+Enter sends, the token can be shown, the headers unfold, and a stopped server is said so", async () => {
  const other = resources.use(await RunningServer.startInProcess());
  const expectedFaults = [/ERR_CONNECTION_REFUSED/];
  await browser.visit(`${other.url}/`, { expectedFaults }, async (page) => {
    await shown(page);
    const field = page.getByLabel("Bearer token");
    await field.fill(await other.createToken());
    expect(await field.getAttribute("type")).toBe("password");
    await page.getByRole("button", { name: "Show" }).click();
    expect(await field.getAttribute("type")).toBe("text");
    await page.getByLabel("Body").press("Control+Enter");
    const response = page.getByRole("region", { name: "Response", exact: true });
    await response.getByText("200 OK").waitFor();
    await response.getByText(/^\d+ headers$/).click();
    expect(await response.innerText()).toContain("x-request-id: ");
    await other.stop();
    await page.getByLabel("Body").press("Control+Enter");
    await response.getByText("There was no response.").waitFor();
  });
});

test("the forms of other operations send their parameters with the token of the first form", async () => {
  const args = ["--operations", "create,list,delete"];
  const other = resources.use(await RunningServer.startInProcess({ args }));
  await browser.visit(`${other.url}/`, { expectedFaults: [/status of 400/] }, async (page) => {
    await shown(page);
    await page.getByLabel("Bearer token").fill(await other.createToken());
    const form = (operationId: string) => ({
      send: () => page.locator(`form[data-response="${operationId}-response"] .send`).click(),
      response: page.getByRole("region", { name: `Response to ${operationId}` }),
    });
    await page.getByRole("button", { name: "Send request" }).first().click();
    await page.getByRole("region", { name: "Response", exact: true }).getByText("200 OK").waitFor();

    const list = form("listPlants");
    await list.send();
    await list.response.getByText('[{"name":"Monstera deliciosa","tag":"tropical"}]').waitFor();
    await page.getByLabel("limit").fill("0");
    await list.send();
    await list.response.getByText("40004").first().waitFor();

    const deletion = form("deletePlant");
    // The browser asks for the id that is missing.
    await deletion.send();
    expect(await deletion.response.innerText()).toContain("appear here");
    await page.getByLabel("id", { exact: false }).last().fill("1");
    await deletion.send();
    await deletion.response.getByText("204 No Content").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await page.evaluate(overprinted)).toEqual([]);
  });
  expect((await other.command("get", "1")).exitCode).toBe(1);
});

/** Texts that overlap others: none may be printed over another, in any look. */
const overprinted = `(() => {
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.data.trim() === "" || !node.parentElement.checkVisibility()) continue;
    if (node.parentElement.closest("thead, noscript, textarea") !== null) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects())
      boxes.push({ text: node.data.trim(), left, right, top, bottom });
  }
  return boxes.flatMap((one, index) =>
    boxes.slice(index + 1).filter((other) =>
      Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1 &&
      Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 6,
    ).map((other) => one.text + " / " + other.text),
  );
})()`;

test("is without accessibility violations, overprinted text or sideways scrolling, in light, dark and narrow", async () => {
  await browser.visitInEveryLook(`${server.url}/`, async (page) => {
    await shown(page);
    for (const summary of await page.locator("summary").all()) await summary.click();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await page.evaluate(overprinted)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
  });
});

test("a contract of three collections: the navigation leads to each, whose forms take the token of the first", async () => {
  const sandbox = resources.use(
    await RunningSandbox.startInProcess({ args: ["--contract", contractFile("estate.yaml")] }),
  );
  await browser.visit(`${sandbox.url}/`, { look: "narrow" }, async (page) => {
    await page.getByRole("button", { name: "Copy" }).first().waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Couriers", exact: true }).click();
    const couriers = page.getByRole("region", { name: "Couriers" });
    await couriers.locator('form[data-response="addCourier-response"] .send').click();
    await couriers.getByRole("region", { name: "Response to addCourier" }).getByText("201 Created").waitFor();
    const search = page.locator('form[data-response="search-response"]');
    await search.getByLabel("Body").fill('{"text": "Ada"}');
    await search.locator(".send").click();
    await page.getByRole("region", { name: "Response to search" }).getByText("200 OK").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
  });
});

test("a contract with an API key and ids of the server: each create has a key of its own, sent again until it is answered", async () => {
  const sandbox = resources.use(
    await RunningSandbox.startInProcess({ args: ["--contract", contractFile("bookings.yaml")] }),
  );
  await browser.visit(`${sandbox.url}/`, {}, async (page) => {
    await page.getByRole("button", { name: "Copy" }).first().waitFor();
    expect(await page.getByLabel("API key").inputValue()).toBe("sandbox");
    const key = page.getByLabel("Idempotency-Key");
    const response = page.getByRole("region", { name: "Response", exact: true });
    const send = async () => {
      const before = await key.inputValue();
      await page.getByRole("button", { name: "Send request" }).first().click();
      await eventually(
        "the key is another",
        () => key.inputValue(),
        (value) => value !== before,
      );
      return /"id":(\d+)/.exec(await response.innerText())?.[1];
    };
    const [first, second] = [await send(), await send()];
    expect(first).toMatch(/^\d+$/);
    expect(second).not.toBe(first);
  });
  const { text } = await sandbox.control("GET", "/requests?limit=10");
  const sent = [...text.matchAll(/idempotency-key[^0-9a-f]+([0-9a-f-]{36})/gi)].map(([, key]) => key);
  expect(new Set(sent).size).toBe(2);
});
