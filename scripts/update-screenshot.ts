// npm run update:screenshot: takes the README's picture of the console, docs/images/console.png, of
// a demonstration under three minutes of its load.
//
// With `-- --all FOLDER` it takes pictures of every page of the console, of the documentation page
// and of a sandbox, in both colour schemes and three widths, with ten thousand plants whose names
// and ids are long, and prints what axe finds on each.

import { type Browser, chromium, type Page } from "playwright-core";
import { accessibilityFaults } from "../test/support/browser.ts";
import { ConsoleClient } from "../test/support/console.ts";
import { plantJson, post } from "../test/support/http.ts";
import { Output } from "../test/support/output.ts";
import { chromiumPath } from "../test/support/programs.ts";
import { RunningSandbox } from "../test/support/sandbox.ts";
import { plantstore } from "../test/support/server.ts";

const picture = new URL("../docs/images/console.png", import.meta.url).pathname;
const loadMs = 180_000;

const colorSchemes = ["light", "dark"] as const;
const widths = [390, 1_280, 1_920];

/** Names that fit, names that fill the width, and one that cannot fit. */
const names = ["Aloe vera", "Bulbophyllum phalaenopsis var. micranthum", "Hoya carnosa ".repeat(20).trim()];
const csv = ["id,name,tag", "x,Aloe vera,not a number"];
for (let id = 0n; id < 10_000n; id++) {
  const tag = ["tropical", "", "Oncidiinae × Zygopetalinae"][Number(id % 4n)] ?? "a tag ".repeat(15);
  csv.push(`${9223372036854775807n - id},${names[Number(id % 3n)]},${tag}`);
}
const file = { name: "plants.csv", mimeType: "text/csv", buffer: Buffer.from(csv.join("\n")) };

const press = (page: Page, name: string | RegExp) =>
  page
    .getByRole("button", { name, exact: typeof name === "string" })
    .first()
    .click();
const dialog = (page: Page) => page.getByRole("dialog");
const openPlant = async (page: Page, id: string) => {
  await page.goto(`${page.url().split("#")[0]}#plant=${id}`);
  await dialog(page).getByRole("button", { name: "Edit" }).waitFor();
};

type Steps = Record<string, (page: Page) => Promise<unknown>>;

/** The steps on the console before each picture. */
const consoleSteps: Steps = {
  list: async () => undefined,
  hour: (page) => press(page, "Last hour"),
  search: async (page) => {
    await page.getByRole("searchbox").fill("phalaenopsis tag:none");
    await page.getByText("50 plants found on this page.").waitFor();
  },
  mistake: async (page) => {
    await page.getByRole("searchbox").fill("colour:green");
    await page.getByText("There is no filter colour").waitFor();
  },
  selected: (page) => page.getByLabel("Select the plants of this page").check(),
  tagged: async (page) => {
    await page.getByLabel("Select the plants of this page").check();
    await press(page, "Set the tag");
  },
  request: (page) =>
    page.getByRole("region", { name: "Recent requests" }).locator("td button").first().click(),
  plant: async (page) => {
    await openPlant(page, "2");
    await dialog(page).getByRole("button", { name: "Undo" }).waitFor();
  },
  edit: async (page) => {
    await openPlant(page, "9223372036854775805");
    await press(page, "Edit");
  },
  delete: async (page) => {
    await openPlant(page, "9223372036854775805");
    await dialog(page).getByRole("button", { name: "Delete" }).click();
  },
  add: (page) => press(page, "Add a plant"),
  import: (page) => press(page, "Import"),
  imported: async (page) => {
    await press(page, "Import");
    const buffer = Buffer.from(csv.slice(0, 1_000).join("\n").replaceAll("Hoya", "Aloe"));
    await page.locator("input[type=file]").setInputFiles({ ...file, buffer });
    await dialog(page).getByLabel("Replace plants that differ").check();
    await press(page, "Dry run");
    await dialog(page).getByText("1 rejected").waitFor();
  },
  export: (page) => press(page, "Export"),
  issue: (page) => press(page, "Issue a token"),
  rotate: (page) => press(page, "Rotate ci"),
  rotated: async (page) => {
    await press(page, "Rotate ci");
    await press(page, "Rotate");
    await page.getByRole("status", { name: "Token" }).waitFor();
  },
  revoke: (page) => press(page, "Revoke ci"),
  "log-in": async (page) => {
    const json = { requiresPassword: true, isAuthenticated: false };
    await page.route(/api\/session/, (route) => route.fulfill({ json }));
    await page.reload();
    await page.getByLabel("Password").waitFor();
  },
};

const sandboxSteps: Steps = {
  sandbox: (page) => page.getByRole("button", { name: "Request 1" }).click(),
  rule: (page) => press(page, "Add a rule"),
  reset: (page) => press(page, "Reset"),
};

const documentationSteps: Steps = {
  documentation: async (page) => {
    await press(page, "Send request");
    await page.getByText("401 Unauthorized").waitFor();
  },
};

/**
 * Takes pictures of a page in both colour schemes and all widths; dialogs as far as they are seen.
 */
async function takeAll(browser: Browser, folder: string, url: string, steps: Steps): Promise<void> {
  for (const colorScheme of colorSchemes)
    for (const width of widths)
      for (const [name, step] of Object.entries(steps)) {
        await using context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
        const page = await context.newPage();
        await page.goto(url);
        await page.locator(".canvas, .addresses, #token").first().waitFor();
        await page.locator(".plants tbody, #token").first().waitFor();
        await step(page);
        const path = `${folder}/${name}-${colorScheme}-${width}.png`;
        await page.screenshot({ path, fullPage: !(await dialog(page).isVisible()) });
        const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
        const faults = await accessibilityFaults(page);
        if (overflow > 0) faults.push(`${overflow} pixels wider than the window`);
        process.stdout.write(`${[path, ...faults].join("\n  ")}\n`);
      }
}

async function takePictures(
  browser: Browser,
  folder: string,
  server: string,
  adminUrl: string,
): Promise<void> {
  const operator = new ConsoleClient(adminUrl);
  for (const [name, expires] of [
    ["ci", "90d"],
    ["warehouse", ""],
    ["the shop in the botanical garden", "1d"],
  ])
    await operator.write("tokens", { name, expires });
  await operator.write("tokens", { name: "an old one", expires: "" });
  await operator.write("tokens/revoke", { name: "an old one" });
  await fetch(`${adminUrl}/console/api/import?format=csv&update=off`, {
    method: "POST",
    headers: { "Content-Type": "application/octet-stream" },
    body: file.buffer,
  });
  await takeAll(browser, folder, `${adminUrl}/console/`, consoleSteps);
  await takeAll(browser, folder, server, documentationSteps);
  const sandbox = await RunningSandbox.startInProcess();
  await sandbox.control("POST", "/rules", {
    match: { name: names[1] },
    outcome: { error: 50300, commit: true },
  });
  await sandbox.control("POST", "/rules", {
    times: 3,
    match: { share: 0.1 },
    outcome: { delay: { seconds: 2 } },
  });
  for (const name of names) await post(sandbox, plantJson(9223372036854775807n, name, "tropical"));
  await takeAll(browser, folder, sandbox.controlUrl.replace("/sandbox", "/console/"), sandboxSteps);
  await sandbox.stop();
}

const executablePath = chromiumPath();
if (executablePath === null)
  throw new Error("There is no Chromium; install chromium-headless-shell or chromium, or set CHROMIUM_PATH");

const [option, folder] = process.argv.slice(2);
const demo = Bun.spawn([plantstore, "demo"], { stdout: "pipe", stderr: "ignore" });
process.once("exit", () => demo.kill());
const [, server = "", consoleUrl = ""] = await new Output(demo.stdout).until(
  (text) => /^(http\S+)\n[\s\S]*^The console is at (\S+)\n/m.exec(text) ?? undefined,
);
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--in-process-gpu"],
});
if (option === "--all" && folder !== undefined) {
  await takePictures(browser, folder, server, consoleUrl.replace("/console/", ""));
} else {
  await Bun.sleep(loadMs);
  const page = await browser.newPage({ viewport: { width: 1_300, height: 860 } });
  await page.goto(consoleUrl);
  await page.getByText(/^[\d,]+ plants, /).waitFor();
  await page.evaluate("document.activeElement.blur()");
  await page.screenshot({ path: picture });
}
await browser.close();
process.exit();
