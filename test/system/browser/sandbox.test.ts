// The console of a sandbox in Chromium: its reset, and the log of requests.

import { afterAll, expect, test } from "bun:test";
import { accessibilityFaults, type Page, TestBrowser } from "../../support/browser.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { assertNoHorizontalScroll, row } from "./console-page.ts";

const browser = new TestBrowser();
afterAll(() => browser[Symbol.asyncDispose]());

const consoleOf = (sandbox: RunningSandbox) => sandbox.controlUrl.replace(/\/sandbox$/, "/console/");
const section = (page: Page) => page.getByRole("region", { name: "Sandbox", exact: true });
const requests = (page: Page) => page.getByRole("region", { name: "Recorded requests" });

test.concurrent("a reset removes plants and requests", async () => {
  await using sandbox = await RunningSandbox.startInProcess();
  await post(sandbox, plantJson(1n, "Ficus"));
  await browser.visit(consoleOf(sandbox), {}, async (page) => {
    await row(page, 1n).waitFor();
    await section(page).getByText(`POST ${sandbox.url}/plants`).waitFor();
    await requests(page).getByRole("row").nth(1).waitFor();
    await section(page).getByRole("button", { name: "Reset" }).click();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
    await page.getByText("There are no plants yet.").waitFor();
    await requests(page).getByText("No request yet.").waitFor();
    expect(await sandbox.resources()).toEqual([]);
  });
});

test.concurrent("requests appear as they come, with both messages, and from a sandbox that is started again", async () => {
  await using first = await RunningSandbox.startInProcess();
  for (let id = 1n; id <= 120n; id++) await post(first, plantJson(id, "Ficus"));
  await browser.visit(consoleOf(first), { expectedFaults: [/ERR_/] }, async (page) => {
    const log = requests(page);
    await log.getByRole("button", { name: "Request 120", exact: true }).waitFor();
    expect(await log.getByRole("button", { name: /^Request / }).count()).toBe(100);
    await log.getByText("GET /sandbox/requests has those before number 21.").waitFor();
    const hostile = "\u202egnp.exe <b>x</b>";
    await post(first, plantJson(121n, hostile));
    const button = log.getByRole("button", { name: "Request 121", exact: true });
    await button.focus();
    await page.keyboard.press("Enter");
    const messages = log.locator("pre");
    await messages.nth(1).waitFor();
    expect(await messages.nth(0).textContent()).toStartWith("POST /plants HTTP/1.1\n");
    expect(await messages.nth(0).textContent()).toEndWith(plantJson(121n, hostile));
    expect(await messages.nth(1).textContent()).toStartWith("200\n");
    expect(await accessibilityFaults(page)).toEqual([]);
    await log.getByRole("button", { name: "Empty the log" }).click();
    await log.getByText("No request yet.").waitFor();

    await first.stop();
    await page.getByText("The server is unreachable.").first().waitFor();
    const args = ["--admin-port", new URL(first.controlUrl).port];
    await using second = await RunningSandbox.startInProcess({ args });
    await post(second, plantJson(1n, "Hoya"));
    await log.getByText("Hoya").waitFor();
    expect(await log.getByRole("button", { name: /^Request / }).allTextContents()).toEqual(["1"]);
    await page.close();
  });
});

test.concurrent("light, dark and narrow pages of a sandbox are accessible, and nothing scrolls sideways", async () => {
  await using sandbox = await RunningSandbox.startInProcess();
  await post(sandbox, plantJson(9223372036854775807n, "x".repeat(500), "y".repeat(500)));
  await browser.visitInEveryLook(consoleOf(sandbox), async (page) => {
    await requests(page).getByRole("button", { name: "Request 1", exact: true }).click();
    await requests(page).locator("pre").nth(1).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await assertNoHorizontalScroll(page);
    // The recorded requests have all that the recent ones have.
    const headings = await page.getByRole("main").getByRole("heading", { level: 2 }).allTextContents();
    expect(headings).not.toContain("Recent requests");
    await page.setViewportSize({ width: 320, height: 700 });
    await assertNoHorizontalScroll(page);
    await section(page).getByRole("button", { name: "Reset" }).click();
    await page.getByRole("dialog").waitFor();
    await assertNoHorizontalScroll(page);
  });
});
