// The documentation page in Chromium: Scalar's reference of the description, and requests from it.

import { afterAll, expect, test } from "bun:test";
import { type Page, TestBrowser } from "../../support/browser.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { eventually } from "../../support/eventually.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const resources = new AsyncDisposableStack();
const browser = resources.use(new TestBrowser());
afterAll(() => resources.disposeAsync());

/** Opens the request of an operation, and sends it. Resolves with the dialog that shows the response. */
async function sendRequest(page: Page, operation: string) {
  await page.getByRole("link", { name: operation }).first().click();
  const section = page.getByRole("region", { name: operation, exact: true }).first();
  await section.locator("button", { hasText: "Test Request" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Send", exact: false }).first().click();
  return dialog;
}

test("the token of a sandbox stands in its field, and one click sends the example", async () => {
  const sandbox = resources.use(await RunningSandbox.startInProcess());
  await browser.visit(`${sandbox.url}/`, {}, async (page) => {
    await page.getByRole("heading", { name: "Plant Store", level: 1 }).waitFor();
    await page.getByText("This is a sandbox").waitFor();
    const dialog = await sendRequest(page, "Create a plant");
    await dialog.getByText("200 OK").waitFor();
    const stored = await page.evaluate("JSON.stringify([{ ...localStorage }, document.cookie])");
    expect(stored).not.toContain('"sandbox"');
  });
  const { text } = await sandbox.control("GET", "/plants");
  expect(text).toContain("Monstera deliciosa");
});

test("a server that wants a token says so in the response", async () => {
  const server = resources.use(await RunningServer.startInProcess({ args: ["--base-path", "/v1"] }));
  await browser.visit(`${server.url}/`, { expectedFaults: [/status of 401/] }, async (page) => {
    await page.getByRole("heading", { name: "Plant Store", level: 1 }).waitFor();
    const dialog = await sendRequest(page, "Create a plant");
    await dialog.getByText("401 Unauthorized").waitFor();
    await eventually(
      "the body is shown",
      () => dialog.innerText(),
      (text) => text.includes("4010"),
    );
  });
});

test("the first operation begins on the first screen, and its sample and its request have all digits of an id", async () => {
  using folder = new TemporaryFolder();
  const contract = folder.file("large-ids.yaml");
  const text = await Bun.file("openapi.yaml").text();
  await Bun.write(contract, text.replace(/\bid: 1\b/g, "id: 9007199254740993"));
  const sandbox = resources.use(await RunningSandbox.startInProcess({ args: ["--contract", contract] }));
  await browser.visit(`${sandbox.url}/`, {}, async (page) => {
    const box = await page.getByRole("heading", { name: "Create a plant" }).boundingBox();
    expect(box?.y).toBeLessThan(900);
    const section = page.getByRole("region", { name: "Create a plant", exact: true }).first();
    await section.getByText('"id": 9007199254740993').first().waitFor();
    await page.getByText("What to do about each error").click();
    await page.getByText("Choose another id. The stored plant is unchanged.").waitFor();
    const dialog = await sendRequest(page, "Create a plant");
    await dialog.getByText("200 OK").waitFor();
    const { text: stored } = await sandbox.control("GET", "/plants");
    expect(stored).toContain('"id":9007199254740993,');
  });
});

test("an id of 64 bits keeps its digits in the response, and an operation is found by its name", async () => {
  const args = ["--contract", contractFile("bookings.yaml")];
  const sandbox = resources.use(await RunningSandbox.startInProcess({ args }));
  await browser.visit(`${sandbox.url}/`, {}, async (page) => {
    await page
      .getByRole("button", { name: /Search/ })
      .first()
      .click();
    await page.getByRole("dialog").getByRole("combobox").fill("booking");
    await page.getByRole("dialog").getByRole("option").first().waitFor();
    await page.keyboard.press("Escape");
    const dialog = await sendRequest(page, "Create a booking");
    await dialog.getByText("201 Created").waitFor();
    const list = await fetch(`${sandbox.url}/bookings`, { headers: { "X-Api-Key": "sandbox" } });
    const stored = /"id":\s*(\d+)/.exec(await list.text())?.[1] ?? "";
    expect(stored).toMatch(/^\d{17,}$/);
    await eventually(
      "the id is shown",
      () => dialog.innerText(),
      (text) => text.includes(stored),
    );
  });
});

test("the page fits on a narrow screen, in light and dark", async () => {
  const server = resources.use(await RunningServer.startInProcess());
  await browser.visitInEveryLook(`${server.url}/`, async (page) => {
    await page.getByRole("heading", { name: "Plant Store", level: 1 }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
  });
});
