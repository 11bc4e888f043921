// The console of a sandbox in Chromium: reset, clock, rules, and the log of requests.

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

test.concurrent("the clock is advanced, set, and real again, and a reset removes plants and requests", async () => {
  await using sandbox = await RunningSandbox.startInProcess();
  await post(sandbox, plantJson(1n, "Ficus"));
  await browser.visit(consoleOf(sandbox), {}, async (page) => {
    await row(page, 1n).waitFor();
    await section(page).getByText(`POST ${sandbox.url}/plants`).waitFor();
    const clock = section(page).getByRole("group", { name: "Clock" });
    await clock.getByRole("button", { name: "+ 1 hour" }).click();
    await section(page).getByText("The clock was advanced by an hour.").waitFor();
    await clock.getByLabel("Time of the clock").fill("2031-05-06T07:08:09");
    await clock.getByRole("button", { name: "Set" }).click();
    await clock.getByText("6 May 2031").waitFor();
    await clock.getByRole("button", { name: "Real time" }).click();
    await clock.getByText("real", { exact: true }).waitFor();
    expect((await sandbox.control("GET")).json).toMatchObject({ clock: { offsetSeconds: 0n } });

    await requests(page).getByRole("row").nth(1).waitFor();
    await section(page).getByRole("button", { name: "Reset" }).click();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
    await page.getByText("There are no plants yet.").waitFor();
    await requests(page).getByText("No request yet.").waitFor();
    expect(await sandbox.resources()).toEqual([]);
  });
});

test.concurrent("rules are added from examples as JSON, with exact ids, applied, and removed", async () => {
  await using sandbox = await RunningSandbox.startInProcess();
  await browser.visit(consoleOf(sandbox), { expectedFaults: [/ 400/] }, async (page) => {
    const rules = section(page).getByRole("group", { name: "Rules" });
    await rules.getByRole("button", { name: "Add a rule" }).click();
    const dialog = page.getByRole("dialog");
    const rule = dialog.getByLabel("Rule", { exact: true });
    await dialog.getByLabel("Example").selectOption("One id fails");
    expect(JSON.parse(await rule.inputValue())).toEqual({ match: { id: 42 }, outcome: { error: 50000 } });
    expect(await accessibilityFaults(page)).toEqual([]);
    await rule.fill('{"outcome": {"error": 1}}');
    await page.getByRole("button", { name: "Add rule" }).click();
    await dialog.getByRole("alert").filter({ visible: true }).waitFor();
    await rule.fill(
      '{"match": {"id": 9223372036854775807}, "times": 1, "outcome": {"error": 50300, "commit": true}}',
    );
    await page.getByRole("button", { name: "Add rule" }).click();
    await rules.getByText("id 9223372036854775807 → error 50300, commit true").waitFor();
    expect((await post(sandbox, plantJson(9223372036854775807n, "Hoya"))).status).toBe(503);
    expect((await post(sandbox, plantJson(9223372036854775807n, "Hoya"))).status).toBe(200);
    await rules.getByText("1 of 1").waitFor();
    await rules.getByRole("button", { name: /^Remove r\d/ }).click();
    await rules.getByText("No rule: every request gets its real response.").waitFor();
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
  await fetch(`${sandbox.controlUrl}/rules`, {
    method: "POST",
    body: JSON.stringify({ match: { tag: "z".repeat(300) }, outcome: { error: 42900 } }),
  });
  await browser.visitInEveryLook(consoleOf(sandbox), async (page) => {
    await section(page).getByText("error 42900").waitFor();
    await requests(page).getByRole("button", { name: "Request 1", exact: true }).click();
    await requests(page).locator("pre").nth(1).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await assertNoHorizontalScroll(page);
    // The recorded requests have all that the recent ones have.
    const headings = await page.getByRole("main").getByRole("heading", { level: 2 }).allTextContents();
    expect(headings).not.toContain("Recent requests");
    await page.setViewportSize({ width: 320, height: 700 });
    await assertNoHorizontalScroll(page);
    await section(page).getByRole("button", { name: "Add a rule" }).click();
    await page.getByRole("dialog").waitFor();
    await assertNoHorizontalScroll(page);
  });
});
