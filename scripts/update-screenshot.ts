// npm run update:screenshot: takes the README's picture of the console, docs/images/console.png, of
// a server under a load that changes for three minutes.

import { chromium } from "playwright-core";
import { plantJson, post } from "../test/support/http.ts";
import { chromiumPath } from "../test/support/programs.ts";
import { RunningServer, TemporaryFolder } from "../test/support/server.ts";
import { storePlants } from "../test/support/stored-plants.ts";

const picture = new URL("../docs/images/console.png", import.meta.url).pathname;
const viewport = { width: 1300, height: 860 };

const loadSeconds = 180;
const earlierPlants = 48_000;

const names = [
  "Monstera deliciosa",
  "Ficus lyrata",
  "Calathea orbifolia",
  "Hoya carnosa",
  "Strelitzia nicolai",
  "שושנת יריחו",
  "Pilea peperomioides",
  "Zamioculcas zamiifolia",
  "Aloe vera",
];
const tags = ["tropical", "tree", undefined, "succulent", "climber"];

const executablePath = chromiumPath();
if (executablePath === null) throw new Error("There is no Chromium; CONTRIBUTING.md says how to install it");

function plantAt(index: number): string {
  return plantJson(
    9_007_199_254_740_993n + BigInt(index),
    names[index % names.length] ?? "",
    tags[index % tags.length],
  );
}

using folder = new TemporaryFolder();
await using server = await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}` });
await server.command("index", "create");
await storePlants(
  server.database,
  Array.from({ length: earlierPlants }, (_, index) => {
    const tag = tags[index % tags.length];
    return {
      id: BigInt(index) * 7n,
      name: names[index % names.length] ?? "",
      ...(tag !== undefined && { tag }),
    };
  }),
);
const tokens = await Promise.all(["shop", "greenhouse", "ci"].map((name) => server.createToken(name)));

let next = 0;
for (let second = 0; second < loadSeconds; second++) {
  const endsAt = performance.now() + 1_000;
  // Two waves, and now and then what clients do wrong.
  const creates = Math.round(30 + 22 * Math.sin(second / 11) + 12 * Math.sin(second / 4));
  const sent = Array.from({ length: creates }, () => {
    const index = next++;
    return post({ url: server.url, token: tokens[index % tokens.length] ?? "" }, plantAt(index));
  });
  const target = { url: server.url, token: tokens[0] ?? "" };
  if (second % 3 === 0) sent.push(post(target, plantAt(Math.max(0, next - 40))));
  if (second % 17 === 0) sent.push(post({ ...target, token: "pst_wrong" }, plantAt(0)));
  if (second % 29 === 0) sent.push(post(target, '{"id": "42"}'));
  await Promise.all(sent);
  await Bun.sleep(Math.max(0, endsAt - performance.now()));
}

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--in-process-gpu"],
});
const page = await browser.newPage({ viewport });
await page.goto(`${await server.adminUrl()}/console/#sort=created`);
await page.getByRole("button", { name: "Last 5 minutes" }).click();
await page
  .getByLabel("Inventory")
  .getByText(/^[\d,]+$/)
  .first()
  .waitFor();
await page.evaluate("document.activeElement.blur()");
await page.screenshot({ path: picture });
await browser.close();
