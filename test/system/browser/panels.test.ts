// The console in Chromium, beside its list of plants: the form, tokens, charts, import, export
// and requests.

import { afterAll, expect, test } from "bun:test";
import { accessibilityFaults, type Page, TestBrowser } from "../../support/browser.ts";
import { plantJson, post } from "../../support/http.ts";
import { assertNoHorizontalScroll, backgroundOf, withPage } from "./console-page.ts";

const browser = new TestBrowser();
afterAll(() => browser[Symbol.asyncDispose]());

const focusedName = (page: Page) => page.evaluate<string | null>("document.activeElement?.name ?? null");

test.concurrent("the form adds plants by the keyboard alone, says at a field what is wrong, and unfolds the response", async () => {
  await withPage(browser, {}, async ({ page, server, console }) => {
    await page.goto(console);
    await page.getByRole("button", { name: "Add a plant" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    expect(await focusedName(page)).toBe("id");
    await page.keyboard.type("-9223372036854775809");
    await page.keyboard.press("Enter");
    await dialog.getByText("Ids are from -9,223,372,036,854,775,808 to").waitFor();
    expect(await dialog.getByLabel("Id").getAttribute("aria-invalid")).toBe("true");
    expect(await focusedName(page)).toBe("id");
    // The ring around the field ends 4 pixels below it.
    const note = await dialog.getByRole("alert").first().boundingBox();
    const field = await dialog.getByLabel("Id").boundingBox();
    expect((note?.y ?? 0) - (field?.y ?? 0) - (field?.height ?? 0)).toBeGreaterThanOrEqual(4);
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
    expect((await server.command("get", "9223372036854775807")).stdout).toBe(
      '{"id":9223372036854775807,"name":"Pilea"}\n',
    );
  });
});

const csv = [
  "Kategorie;Nr;Bezeichnung",
  ...Array.from({ length: 60_000 }, (_, index) => `wax;${index + 1_000_000};Hoya ${index}`),
  "wax;x;no number",
  "wax;1000000;another name",
  ";2000000;\u202eevil",
].join("\r\n");

test.concurrent("a file that is dropped is previewed, imported by the columns of its header, and counted in the charts", async () => {
  await withPage(browser, { look: "narrow" }, async ({ page, server, console }) => {
    await page.goto(console);
    const file = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([${JSON.stringify(csv)}], "plants.csv", { type: "text/csv" }));
      return transfer;
    })()`);
    await page.getByRole("heading", { name: "Tokens" }).waitFor();
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
    await dialog.getByRole("button", { name: "Download the rejected lines" }).click();
    const report = (await Bun.file(await (await download).path()).text()).trimEnd().split("\n");
    expect(report).toEqual([
      "Kategorie;Nr;Bezeichnung;reason",
      expect.stringMatching(/^wax;x;no number;.*line 60002: 40002 /),
      expect.stringMatching(/^wax;1000000;another name;.*line 60003: 40009 /),
    ]);
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByText(/^60,001 created in the last /).waitFor();
    expect((await server.command("get", "2000000")).stdout).toBe('{"id":2000000,"name":"\u202eevil"}\n');
  });
});

test.concurrent("a file that is not UTF-8 is not imported, and plants that differ are replaced after a dry run, which shows the differences", async () => {
  await withPage(browser, { look: "narrow" }, async ({ page, server, target, console }) => {
    await post(target, plantJson(3_000_000n, "Hoya", "wax"));
    await page.goto(console);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.evaluate((shown) => shown.scrollWidth - shown.clientWidth)).toBe(0);
    const choose = (text: string, encoding: BufferEncoding) =>
      dialog
        .locator("input[type=file]")
        .setInputFiles({ name: "plants.csv", mimeType: "text/csv", buffer: Buffer.from(text, encoding) });
    await choose("id,name\n1,B\u00fcste\n", "latin1");
    await page.getByText("This file is not UTF-8.").waitFor();
    expect(await dialog.getByRole("button", { name: "Import", exact: true }).isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Choose another" }).click();
    await choose("id,name,tag\n3000000,Hoya carnosa,\n3000001,Aloe,\nx,Ficus,\n", "utf8");
    await dialog.getByLabel("Replace plants that differ").check();
    await dialog.getByRole("button", { name: "Dry run" }).click();
    await dialog.getByText("1 to be created, 0 already stored, 1 to be replaced, 1 rejected").waitFor();
    const differences = dialog.getByRole("list", { name: "Differences" });
    expect(await differences.textContent()).toContain("Hoya wax → Hoya carnosa");
    expect(await accessibilityFaults(page)).toEqual([]);
    expect((await server.command("get", "3000000")).stdout).toContain('"tag":"wax"');
    await dialog.getByRole("button", { name: "Import, and replace 1 plant" }).click();
    await dialog.getByText("1 created, 0 already stored, 1 replaced, 1 rejected").waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    expect((await server.command("get", "3000000")).stdout).toBe('{"id":3000000,"name":"Hoya carnosa"}\n');
  });
});

test.concurrent("all plants are exported", async () => {
  await withPage(browser, {}, async ({ page, target, console }) => {
    await post(target, plantJson(70n, "נרקיס"));
    await page.goto(console);
    await page.getByRole("button", { name: "Export", exact: true }).click();
    const exported = page.waitForEvent("download");
    await page.getByRole("dialog").getByRole("button", { name: "Export", exact: true }).click();
    const text = await Bun.file(await (await exported).path()).text();
    expect(text).toStartWith("id,name,tag\n");
    expect(text).toContain("\n70,נרקיס,\n");
  });
});

test.concurrent("the recent requests are filtered by code, and show their message", async () => {
  await withPage(browser, {}, async ({ page, target, console }) => {
    await post({ ...target, token: "pst_wrong" }, plantJson(80n, "Aloe"));
    await page.goto(console);
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

test.concurrent("charts are read and zoomed by the keyboard and the pointer, and each code has a colour of its own", async () => {
  await withPage(browser, {}, async ({ page, target, console }) => {
    for (const body of ["{", '{"id":"x","name":"y"}']) await post(target, body);
    await page.goto(console);
    const activity = page.getByRole("region", { name: "Activity" });
    const chart = activity.getByRole("img", { name: /^Errors by code/ });
    await chart.waitFor();
    await activity.getByRole("button", { name: "Last 5 minutes" }).click();
    // With the pointer still over it.
    const pressed = await backgroundOf(page, "[aria-pressed=true]");
    await page.mouse.move(0, 0);
    expect(await backgroundOf(page, "[aria-pressed=true]")).toBe(pressed);
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

/** The pixels of a chart in the colours of its bars, not the grey of its grid. */
const colouredPixels = `(() => {
  const canvas = document.querySelector(".chart canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const pixels = Array.from({ length: data.length / 4 }, (_, at) => data.slice(at * 4, at * 4 + 3));
  return pixels.filter((colours) => Math.max(...colours) - Math.min(...colours) > 60).length;
})()`;

test.concurrent("a minute that has just begun has a bar of its creates, and narrows no other one", async () => {
  await withPage(browser, {}, async ({ page, console }) => {
    // Samples of 5 seconds: those of minutes, and the first ones of the next.
    const first = Math.floor(Date.now() / 60_000) * 12;
    const minute = [{ created: 1 }, ...Array(11).fill({})];
    const pixelsWith = async (minutes: number, newer: number) => {
      const samples = [...Array(minutes).fill(minute).flat(), ...minute.slice(0, newer)];
      await page.route(/api\/history\?/, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ json: { ...(await response.json()), first, samples } });
      });
      await page.goto("about:blank");
      await page.goto(console);
      await page.getByText(/1 created in the last minute/).waitFor();
      const pixels = await page.evaluate<number>(colouredPixels);
      await page.unrouteAll({ behavior: "wait" });
      return pixels;
    };
    expect(await pixelsWith(0, 1)).toBeGreaterThan(20);
    expect(await pixelsWith(40, 1)).toBeGreaterThan(0.8 * (await pixelsWith(40, 12)));
  });
});
