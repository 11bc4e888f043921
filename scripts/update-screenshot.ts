// npm run update:screenshot: takes the README's picture of the console, docs/images/console.png,
// after two clients have sent plants to a new store for ten minutes.

import { chromium } from "playwright-core";
import { plantJson, post } from "../test/support/http.ts";
import { chromiumPath } from "../test/support/programs.ts";
import { RunningServer } from "../test/support/server.ts";

const picture = new URL("../docs/images/console.png", import.meta.url).pathname;
const loadSeconds = 600;
const names = ["Monstera deliciosa", "Ficus lyrata", "Aloe vera", "Hoya carnosa", "Calathea orbifolia"];
const tags = ["tropical", "tree", "succulent", undefined];

const executablePath = chromiumPath();
if (executablePath === null)
  throw new Error("There is no Chromium; install chromium-headless-shell or chromium, or set CHROMIUM_PATH");

await using server = await RunningServer.start();
const { url } = server;
const targets = [
  { url, token: await server.createToken("garden-center") },
  { url, token: await server.createToken("greenhouse") },
] as const;
let id = 9_007_199_254_740_993n;
for (let second = 0; second < loadSeconds; second++) {
  const creates = Math.round(9 + 5 * Math.sin(second / 11) + 3 * Math.sin(second / 4));
  const posts = Array.from({ length: creates }, () => {
    const number = Number(id % 1_000n);
    const body = plantJson(id++, names[number % names.length] ?? "", tags[number % tags.length]);
    return post(targets[number % 2] ?? targets[0], body);
  });
  await Promise.all(posts);
  await Bun.sleep(1_000);
}
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--in-process-gpu"],
});
const page = await browser.newPage({ viewport: { width: 1_300, height: 860 } });
await page.goto(`${await server.adminUrl()}/console/`);
await page.getByText(/^[\d,]+ plants, /).waitFor();
await page.evaluate("document.activeElement.blur()");
await page.screenshot({ path: picture });
await browser.close();
