// The console in Chromium where things go wrong: a slow network, an import that is stopped, and a
// large file.

import { afterAll, expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { type Page, TestBrowser } from "../../support/browser.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer } from "../../support/server.ts";
import { row, searchFor, withPage } from "./console-page.ts";

const browser = new TestBrowser();
afterAll(() => browser[Symbol.asyncDispose]());

/** A connection of 400 ms latency and 40 KB a second in both directions. */
async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 400,
    downloadThroughput: 40_000,
    uploadThroughput: 40_000,
  });
}

/** Holds the requests to a path until it is called. */
async function hold(page: Page, path: RegExp): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(path, async (route) => {
    await promise;
    await route.continue();
  });
  return resolve;
}

/** Writes a CSV file of plants with the ids from 0 on, in parts. */
function writeCsv(path: string, plants: number, name: string): void {
  const file = openSync(path, "w");
  writeSync(file, "id,name,tag\n");
  for (let start = 0; start < plants; start += 10_000) {
    const length = Math.min(10_000, plants - start);
    writeSync(file, Array.from({ length }, (_, index) => `${start + index},${name},large\n`).join(""));
  }
  closeSync(file);
}

async function chooseFile(page: Page, path: string): Promise<void> {
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByRole("dialog").locator("input[type=file]").setInputFiles(path);
}

const importButton = (page: Page) =>
  page.getByRole("dialog").getByRole("button", { name: "Import", exact: true });

test.concurrent("on a slow network the page shows what it waits for, sends nothing twice, and loses no typed text", async () => {
  await withPage(browser, {}, async ({ page, server, target, console, folder }) => {
    await post(target, plantJson(1n, "Ficus"));
    await page.goto(console);
    await row(page, 1n).waitFor();
    await page.getByText("the shop").first().waitFor();
    await slowDown(page);
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") sent.push(request.url().replace(/.*\/api\//, ""));
    });
    const releaseSearch = await hold(page, /api\/plants\?/);
    await searchFor(page, "Ficus");
    await page.getByRole("progressbar", { name: "Searching" }).waitFor();
    releaseSearch();
    await page.getByText("1 plant found.").waitFor();

    await page.getByRole("button", { name: "Add a plant" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Id", { exact: true }).fill("2");
    await dialog.getByLabel("Name", { exact: true }).fill("Hoya");
    const releaseAdd = await hold(page, /api\/plants$/);
    // Impatiently.
    for (const _ of Array(5)) await page.keyboard.press("Enter");
    expect(await dialog.getByRole("button", { name: "Add plant" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Id", { exact: true }).fill("3");
    await dialog.getByLabel("Name", { exact: true }).fill("Aloe");
    releaseAdd();
    await dialog.getByText("is stored.").waitFor();
    expect(sent).toEqual(["plants"]);
    expect(await dialog.getByLabel("Id", { exact: true }).inputValue()).toBe("3");
    expect(await page.evaluate("document.activeElement.name")).toBe("field-0");
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Issue a token" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("slow");
    await page.getByRole("button", { name: "Issue", exact: true }).dblclick();
    await page.getByRole("status", { name: "Token" }).waitFor();
    await page.getByRole("button", { name: "Done" }).click();
    expect(sent).toEqual(["plants", "tokens"]);

    writeCsv(folder.file("plants.csv"), 3_000, "Monstera deliciosa");
    await chooseFile(page, folder.file("plants.csv"));
    const releaseImport = await hold(page, /api\/import\?/);
    await importButton(page).dblclick();
    await dialog.getByRole("progressbar", { name: "Import" }).waitFor();
    // A page cannot cancel the second Escape.
    for (const _ of Array(3)) await page.keyboard.press("Escape");
    expect(await dialog.isVisible()).toBe(true);
    releaseImport();
    await dialog.getByText("2,998 created, 0 already stored, 2 rejected").waitFor();
    expect(sent.filter((call) => call.startsWith("import?"))).toHaveLength(1);
    expect((await server.command("get", "3")).stdout).toContain("Monstera");
  });
});

test.concurrent("an import that is stopped is continued by importing the file again", async () => {
  await withPage(browser, {}, async ({ page, folder, console }) => {
    writeCsv(folder.file("plants.csv"), 10_000, "Hoya carnosa");
    await page.goto(console);
    const release = await hold(page, /api\/import\?/);
    await chooseFile(page, folder.file("plants.csv"));
    await importButton(page).click();
    await page.getByRole("button", { name: "Stop the import" }).click();
    await page.getByText("The import was stopped.").waitFor();
    release();
    await importButton(page).click();
    await page.getByText(/^[\d,]+ created, [\d,]+ already stored, 0 rejected/).waitFor();
  });
});

/** With names of a thousand characters. */
const largePlants = 200_000;
/**
 * The memory of the server was 254 to 351 MB in 30 runs on 2 cores; if it held the file, it would
 * take 200 MB more.
 */
const serverMbMax = 400;
const pageHeapMbMax = 60;

test.concurrent("a file of 200 MB is imported with little memory in the server and in the page", async () => {
  await withPage(browser, { start: RunningServer.start }, async ({ page, folder, server, console }) => {
    const path = folder.file("large.csv");
    writeCsv(path, largePlants, "Monstera deliciosa ".repeat(53));
    expect(Bun.file(path).size).toBeGreaterThan(200_000_000);
    await page.goto(console);
    const session = await page.context().newCDPSession(page);
    await session.send("HeapProfiler.enable");
    await chooseFile(page, path);
    await importButton(page).click();
    const dialog = page.getByRole("dialog");
    const heaps: number[] = [];
    const done = dialog.getByText("200,000 created, 0 already stored, 0 rejected");
    while (!(await done.isVisible())) {
      // Collects garbage first, to measure live memory only.
      await session.send("HeapProfiler.collectGarbage");
      heaps.push((await session.send("Runtime.getHeapUsage")).usedSize / 1e6);
      await Bun.sleep(100);
    }
    expect(heaps.length).toBeGreaterThan(3);
    expect(Math.max(...heaps)).toBeLessThan(pageHeapMbMax);
    const peakKb = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]);
    expect(peakKb / 1_024).toBeLessThan(serverMbMax);
  });
});
