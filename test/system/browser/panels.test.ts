// The console in Chromium, beside its list of plants: the form, tokens, charts, import, export,
// requests and backup.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { accessibilityFaults, type Page, TestBrowser } from "../../support/browser.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
const browser = resources.use(new TestBrowser());
let server: RunningServer;
let target: { url: string; token: string };
let url: string;
beforeAll(async () => {
  server = resources.use(await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}` }));
  target = { url: server.url, token: await server.createToken("the shop") };
  url = `${await server.adminUrl()}/console/`;
});
afterAll(() => resources.disposeAsync());

const focusedName = (page: Page) => page.evaluate<string | null>("document.activeElement?.name ?? null");

/** No element of the page is wider than it. */
async function assertNoHorizontalScroll(page: Page): Promise<void> {
  expect(await page.evaluate<boolean>("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
}

test("the form adds plants by the keyboard alone, says at a field what is wrong, and unfolds the response", async () => {
  await browser.visit(url, {}, async (page) => {
    await page.getByRole("button", { name: "Add a plant" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    expect(await focusedName(page)).toBe("id");
    await page.keyboard.type("9223372036854775808");
    await page.keyboard.press("Enter");
    await dialog.getByText("This id is too large").waitFor();
    expect(await dialog.getByLabel("Id").getAttribute("aria-invalid")).toBe("true");
    expect(await focusedName(page)).toBe("id");
    await dialog.getByText("Response of the interface: 400, error 40002").click();
    expect(await dialog.locator("pre").textContent()).toContain('{"error":40002,');
    expect(await accessibilityFaults(page)).toEqual([]);

    await dialog.getByLabel("Id").fill("9223372036854775807");
    await dialog.getByLabel("Name").fill("Pilea");
    await page.keyboard.press("Enter");
    await dialog.getByText("is stored.").waitFor();
    // For the next plant.
    expect([await focusedName(page), await dialog.getByLabel("Id").inputValue()]).toEqual(["id", ""]);
    await dialog.getByLabel("Id").fill("9223372036854775807");
    await dialog.getByLabel("Name").fill("Ficus");
    await page.keyboard.press("Enter");
    await dialog.getByText("Another plant with the id 9223372036854775807 is stored.").waitFor();
    await dialog.getByLabel("a token, as a client", { exact: true }).check();
    await page.keyboard.press("Enter");
    await dialog.getByText("Paste a token, or add the plant as the operator.").waitFor();
    await dialog.getByLabel("Token", { exact: true }).fill("pst_wrong");
    await page.keyboard.press("Enter");
    await dialog.getByText("This token is not accepted").waitFor();
  });
  expect((await server.command("get", "9223372036854775807")).stdout).toBe(
    '{"id":9223372036854775807,"name":"Pilea"}\n',
  );
});

test("a token is rotated with an overlap, and its state is in plain words", async () => {
  await browser.visit(url, {}, async (page) => {
    const tokens = page.getByRole("region", { name: "Tokens" });
    await tokens.getByText("Active · no use recorded · no expiry").first().waitFor();
    await tokens.getByRole("button", { name: "Rotate the shop" }).click();
    await page.getByLabel("The new token expires").selectOption({ label: "in 90 days" });
    await page.getByRole("dialog").getByRole("button", { name: "Rotate", exact: true }).click();
    const token = (await page.getByRole("status", { name: "Token" }).textContent()) ?? "";
    await page.getByText("works for the overlap: it ends in 6 days.").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Done" }).click();
    await tokens.getByText("Replaced · ").waitFor();
    await tokens.getByText("expires in 89 days").waitFor();
    expect((await post({ url: target.url, token }, plantJson(5_060n, "Aloe"))).status).toBe(200);
    expect((await post(target, plantJson(5_060n, "Aloe"))).status).toBe(200);
  });
});

const csv = [
  "Kategorie;Nr;Bezeichnung",
  ...Array.from({ length: 60_000 }, (_, index) => `wax;${index + 1_000_000};Hoya ${index}`),
  "wax;x;no number",
  "wax;1000000;another name",
  ";2000000;\u202eevil",
].join("\r\n");

test("a file that is dropped is previewed, imported by the columns of its header, and counted in the charts", async () => {
  await browser.visit(url, { look: "narrow" }, async (page) => {
    const file = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([${JSON.stringify(csv)}], "plants.csv", { type: "text/csv" }));
      return transfer;
    })()`);
    await page.getByRole("heading", { name: "Backup" }).waitFor();
    await page.dispatchEvent("main", "dragover", { dataTransfer: file });
    await page.getByText("Drop the file to import it").waitFor();
    await page.dispatchEvent("main", "drop", { dataTransfer: file });
    const dialog = page.getByRole("dialog");
    const preview = dialog.getByRole("region", { name: "Preview" });
    await preview.getByText("Hoya 9", { exact: true }).waitFor();
    expect(await preview.getByRole("row").count()).toBe(11);
    expect(await preview.getByRole("row").nth(1).textContent()).toBe("1000000Hoya 0wax");
    await dialog.getByLabel("Tag column").selectOption({ label: "none" });
    await preview.getByText("wax").first().waitFor({ state: "hidden" });
    expect(await preview.getByRole("row").nth(1).textContent()).toBe("1000000Hoya 0");
    await dialog.getByLabel("Tag column").selectOption({ label: "Kategorie" });
    await preview.getByText("wax").first().waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await assertNoHorizontalScroll(page);

    await dialog.getByRole("button", { name: "Import", exact: true }).click();
    await dialog.getByText("60,001 created, 0 already stored, 2 rejected").waitFor();
    const rejections = dialog.getByRole("region", { name: "Rejected lines" });
    expect(await rejections.getByRole("row").nth(1).textContent()).toContain("60,002");
    expect(await rejections.getByRole("row").nth(2).textContent()).toContain(
      "already holds a different plant",
    );
    const download = page.waitForEvent("download");
    await dialog.getByRole("link", { name: "Download the rejected lines" }).click();
    const report = (await Bun.file(await (await download).path()).text()).trimEnd().split("\n");
    expect(report).toEqual([
      "Kategorie;Nr;Bezeichnung;reason",
      expect.stringMatching(/^wax;x;no number;.*line 60002: 40002 /),
      expect.stringMatching(/^wax;1000000;another name;.*line 60003: 40009 /),
    ]);
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Done" }).click();
    await page
      .getByRole("img", { name: /^Creates, .*imported [\d.,]+[1-9]|^Creates, .*imported [1-9]/ })
      .waitFor();
  });
  expect((await server.command("get", "2000000")).stdout).toBe('{"id":2000000,"name":"\u202eevil"}\n');
});

test("plants that differ are replaced after a dry run, which shows the differences", async () => {
  await post(target, plantJson(3_000_000n, "Hoya", "wax"));
  await browser.visit(url, { look: "narrow" }, async (page) => {
    await page.getByRole("button", { name: "Import", exact: true }).click();
    const dialog = page.getByRole("dialog");
    const buffer = Buffer.from("id,name,tag\n3000000,Hoya carnosa,\n3000001,Aloe,\nx,Ficus,\n");
    await dialog
      .locator("input[type=file]")
      .setInputFiles({ name: "plants.csv", mimeType: "text/csv", buffer });
    await dialog.getByLabel("Replace plants that differ").check();
    await dialog.getByRole("button", { name: "Dry run" }).click();
    await dialog.getByText("1 to be created, 0 already stored, 1 to be replaced, 1 rejected").waitFor();
    const differences = dialog.getByRole("list", { name: "Differences" });
    expect(await differences.textContent()).toContain("Hoya wax → Hoya carnosa");
    expect(await accessibilityFaults(page)).toEqual([]);
    expect((await server.command("get", "3000000")).stdout).toContain('"tag":"wax"');
    await dialog.getByRole("button", { name: "Import, and replace 1 plant" }).click();
    await dialog.getByText("1 created, 0 already stored, 1 replaced, 1 rejected").waitFor();
    const run = /--undo (\w+)/.exec((await dialog.textContent()) ?? "")?.[1] ?? "";
    await dialog.getByRole("button", { name: "Done" }).click();
    expect((await server.command("get", "3000000")).stdout).toBe('{"id":3000000,"name":"Hoya carnosa"}\n');
    await server.command("history", "--undo", run);
    expect((await server.command("get", "3000000")).stdout).toContain('"tag":"wax"');
  });
});

test("a file that is not UTF-8 is not imported, and says how to save it", async () => {
  await browser.visit(url, {}, async (page) => {
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page
      .getByRole("dialog")
      .locator("input[type=file]")
      .setInputFiles({
        name: "a.csv",
        mimeType: "text/csv",
        buffer: Buffer.from("id,name\n1,B\u00fcste\n", "latin1"),
      });
    await page.getByText("This file is not UTF-8.").waitFor();
    expect(
      await page.getByRole("dialog").getByRole("button", { name: "Import", exact: true }).isDisabled(),
    ).toBe(true);
  });
});

test("all plants are exported with progress, and the store is backed up by a button", async () => {
  await post(target, plantJson(70n, "נרקיס"));
  await browser.visit(url, {}, async (page) => {
    await page.getByRole("button", { name: "Export", exact: true }).click();
    const exported = page.waitForEvent("download");
    await page.getByRole("dialog").getByRole("button", { name: "Export", exact: true }).click();
    const text = await Bun.file(await (await exported).path()).text();
    expect(text).toStartWith("id,name,tag\n");
    expect(text).toContain("\n70,נרקיס,\n");
    await page.getByText(/^[\d,]+ plants?, .* exported\.$/).waitFor();
    await page.keyboard.press("Escape");

    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Back up now" }).click();
    const backup = await saved;
    expect(backup.suggestedFilename()).toMatch(/^plantstore-.*\.db$/);
    const start = (await Bun.file(await backup.path()).bytes()).subarray(0, 15);
    expect(new TextDecoder().decode(start)).toBe("SQLite format 3");
    await page.getByText("Downloaded, ").waitFor();
  });
});

test("the recent requests are filtered by code, and show their message", async () => {
  await post({ ...target, token: "pst_wrong" }, plantJson(80n, "Aloe"));
  await browser.visit(url, {}, async (page) => {
    const requests = page.getByRole("region", { name: "Recent requests" });
    await post(target, '{"id": 81, "name": 7}');
    await requests.getByLabel("Filter by code").selectOption("40101");
    await requests.getByText("The bearer token is not accepted").first().waitFor();
    await requests.getByLabel("Filter by code").selectOption("");
    const failed = requests.getByRole("row").filter({ hasText: "40002" }).first();
    await failed.getByRole("button").click();
    await requests.getByRole("definition").filter({ hasText: "name" }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});

test("charts are read and zoomed by the keyboard and the pointer, and each code has a colour of its own", async () => {
  for (const body of ["{", '{"id":"x","name":"y"}']) await post(target, body);
  await browser.visit(url, {}, async (page) => {
    const activity = page.getByRole("region", { name: "Activity" });
    const chart = activity.getByRole("img", { name: /^Errors by code/ });
    await chart.waitFor();
    await activity.getByRole("button", { name: "Last 5 minutes" }).click();
    await chart.focus();
    await page.keyboard.press("ArrowLeft");
    await activity.locator(".readout b").first().waitFor();
    await page.keyboard.press("+");
    await activity.getByRole("button", { name: "Reset zoom" }).click();
    const box = await activity.locator(".u-over").first().boundingBox();
    if (box === null) throw new Error("There is no chart");
    await page.mouse.move(box.x + 20, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 30);
    await page.mouse.up();
    await activity.getByRole("button", { name: "Reset zoom" }).waitFor();
    await activity.getByRole("button", { name: "Last 24 hours" }).click();
    await chart.waitFor();
    const figure = activity.getByRole("figure").filter({ hasText: "Errors by code" });
    await figure.locator(".key i").nth(1).waitFor();
    const swatches = await figure.locator(".key i").all();
    const colours = await Promise.all(swatches.map((swatch) => swatch.getAttribute("style")));
    expect(colours.length).toBeGreaterThanOrEqual(2);
    expect(new Set(colours).size).toBe(colours.length);
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});

test("at 320 pixels nothing scrolls sideways, and the plants come first", async () => {
  await browser.visit(url, { look: "narrow" }, async (page) => {
    await page.setViewportSize({ width: 320, height: 700 });
    await page.getByRole("heading", { name: "Backup" }).waitFor();
    const headings = await page.getByRole("main").getByRole("heading", { level: 2 }).allTextContents();
    expect(headings[0]).toBe("Plants");
    await assertNoHorizontalScroll(page);
    for (const name of ["Add a plant", "Export", "Import"]) {
      await page.getByRole("button", { name, exact: true }).click();
      await page.getByRole("dialog").waitFor();
      await assertNoHorizontalScroll(page);
      await page.keyboard.press("Escape");
    }
  });
});
