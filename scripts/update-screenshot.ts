// npm run update:screenshot: takes the README's picture of the console, docs/images/console.png, of
// a demonstration under three minutes of its load.

import { chromium } from "playwright-core";
import { Output } from "../test/support/output.ts";
import { chromiumPath } from "../test/support/programs.ts";
import { plantstore } from "../test/support/server.ts";

const picture = new URL("../docs/images/console.png", import.meta.url).pathname;
const viewport = { width: 1300, height: 860 };
const loadSeconds = Number(process.argv[2] ?? 180);

const executablePath = chromiumPath();
if (executablePath === null)
  throw new Error("There is no Chromium; install chromium-headless-shell or chromium, or set CHROMIUM_PATH");

const demo = Bun.spawn([plantstore, "demo"], { stdout: "pipe", stderr: "ignore" });
const consoleUrl = await new Output(demo.stdout).until(
  (text) => /^The console is at (\S+)\n/m.exec(text)?.[1],
);
await Bun.sleep(loadSeconds * 1_000);

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--in-process-gpu"],
});
const page = await browser.newPage({ viewport });
await page.goto(consoleUrl);
await page.getByText(/^[\d,]+ plants, /).waitFor();
await page.evaluate("document.activeElement.blur()");
await page.screenshot({ path: picture });
await browser.close();
demo.kill();
await demo.exited;
