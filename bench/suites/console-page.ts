// The suite "console-page": the console's page in Chromium on a store of many plants, driven as an operator does, with the time
// of each of its views.

import { Database } from "bun:sqlite";
import { copyFileSync } from "node:fs";
import type { Page } from "../../test/support/browser.ts";
import { chromiumPath } from "../../test/support/chromium.ts";
import { CountedStore, countSqliteRows } from "../durability-audit.ts";
import { runProgram } from "../processes.ts";
import { createPlant } from "../subjects/http.ts";
import { createToken, type PlantstoreSubject, startPlantstore } from "../subjects/plantstore.ts";
import type { Scenario, Setup, Suite } from "../suite.ts";

export const consolePageSuite: Suite = {
  name: "console-page",
  title: "The console's page",
  summary:
    "Every view of the console's page in Chromium, from the click to the frame that shows it, with all optional indexes and without any; and the time to build each index.",
  programs: {},
  defaults: { rounds: 3, plants: 1_000_000 },
  scenarios: [views],
};

const indexes = ["newest", "name", "tag", "text"] as const;

/** So that the list of the newest plants has pages. */
const newPlants = 120;

/** Between two ids. */
const idStep = 9_973;

const viewMsMax = 300;
const firstPaintMsMax = 200;
/** For a view that takes longer, until it shows its progress. */
const silentMsMax = 1_000;

const slowestView = "slowest view, ms";
const longestSilence = "longest without progress, ms";
const firstPaint = "first paint, ms";

interface PageSubject extends PlantstoreSubject {
  /** Of each index, in seconds. */
  readonly buildSeconds: Readonly<Record<string, number>>;
}

/** What an operator does, and the request whose response the view shows. Scripts of the page. */
interface View {
  readonly act: string;
  readonly request: string;
}

const click = (selector: string) => `document.querySelector(${JSON.stringify(selector)}).click()`;
const clickText = (selector: string, text: string) =>
  `[...document.querySelectorAll(${JSON.stringify(selector)})].find((one) => one.textContent.startsWith(${JSON.stringify(text)})).click()`;
const list = "api/plants?";
const search = (query: string): View => ({
  act: `const field = document.querySelector("input[type=search]");
        field.value = ${JSON.stringify(query)};
        field.dispatchEvent(new Event("input", { bubbles: true }));
        await frame();
        field.form.requestSubmit();`,
  request: list,
});
const turn = (label: string): View => ({ act: clickText(".pages button", label), request: list });
const sort = (label: string): View => ({ act: clickText("th button", label), request: list });

/** Each in the state that those before it have left. Orders without their index are not there. */
function viewsOf(round: number, plants: number, hasIndexes: boolean): Record<string, View> {
  const name = (index: number) => nameOf((plants * 7 + round * 131 + index) % plants, plants);
  const paging = (order: string) => ({
    [`${order}, next page`]: turn("Next"),
    [`${order}, page before`]: turn("Previous"),
  });
  return {
    ...paging("by id"),
    "by id, ascending": sort("Id"),
    ...(hasIndexes && {
      "by name": sort("Name"),
      ...paging("by name"),
      "by tag": sort("Tag"),
      ...paging("by tag"),
      "newest first": sort("Created"),
      ...paging("newest first"),
    }),
    "an id": search(String(idStep * (1 + ((round * 7_919) % plants)))),
    "a name": search(name(0)),
    "a part of many names": search("ELICIOSA"),
    "a part of few names": search(`osa ${100_000 + round * 37}`),
    "a part that no name has": search(`iosa fic${round}`),
    "a tag": search(`tag:"tag ${(round * 37) % 1_000}"`),
    "a part and a tag": search(`arno tag:"tag ${tagWith(3, round)}"`),
    "a part and a tag without it": search(`deliciosa tag:"tag ${tagWith(2, round)}"`),
    "a name and a tag without it": search(`${name(1)} tag:"tag ${round}"`),
    "two letters": search("ho"),
    "all again": search(""),
    "a plant": { act: click("tbody a"), request: "api/plant?" },
    "charts of a day": { act: clickText("button", "24 h"), request: "api/history?" },
    "requests of a code": {
      act: `const codes = document.querySelector("select[aria-label='Filter by code']");
            codes.selectedIndex = 1; codes.dispatchEvent(new Event("change", { bubbles: true }));`,
      request: "api/requests?",
    },
  };
}

async function views(setup: Setup): Promise<Scenario<PageSubject> | undefined> {
  if (chromiumPath() === null) {
    setup.skip("the page", "Chromium is not installed: apt-get install chromium");
    return undefined;
  }
  const { TestBrowser } = await import("../../test/support/browser.ts");
  const browser = setup.stack.use(await TestBrowser.start());
  const subjects = [await startSubject(setup, []), await startSubject(setup, indexes)];
  const [without, withAll] = ["no index", "all indexes"];
  const load = `${setup.plants.toLocaleString("en-US")} plants`;
  let round = 0;
  return {
    name: "Views of the page",
    subjects,
    loads: [
      {
        name: load,
        warmsUp: true,
        async run({ name, server, buildSeconds }, { firstId }) {
          const figures: Record<string, number> = {};
          const build = Object.entries(buildSeconds).map(([index, seconds]) => [
            `building ${index}, s`,
            seconds,
          ]);
          round++;
          await browser.visit(`${await server.adminUrl()}/console/`, {}, async (page) => {
            Object.assign(
              figures,
              await measure(page, viewsOf(round, setup.plants, name === withAll), firstId),
            );
          });
          return { figures: { ...figures, ...Object.fromEntries(build) }, acknowledged: 1 };
        },
      },
    ],
    metrics: [
      firstPaint,
      "opened, ms",
      ...Object.keys(viewsOf(0, setup.plants, true)).map((view) => `${view}, ms`),
      "adding a plant, ms",
      "export, ms",
      ...indexes.map((index) => `building ${index}, s`),
    ],
    claims: [
      {
        subject: withAll,
        metric: firstPaint,
        loads: [load],
        thresholds: { [load]: { atMost: firstPaintMsMax } },
      },
      { subject: withAll, metric: slowestView, loads: [load], thresholds: { [load]: { atMost: viewMsMax } } },
      {
        subject: without,
        metric: longestSilence,
        loads: [load],
        thresholds: { [load]: { atMost: silentMsMax } },
      },
    ],
  };
}

async function startSubject(setup: Setup, names: readonly (typeof indexes)[number][]): Promise<PageSubject> {
  const { folder, plants, versions, progress } = setup;
  const [version] = versions;
  const filled = `${folder}/filled.db`;
  if (!(await Bun.file(filled).exists())) {
    progress(`storing ${plants.toLocaleString("en-US")} plants`);
    await createToken(version, `sqlite:${filled}`);
    storePlants(filled, plants);
  }
  const name = names.length === 0 ? "no index" : "all indexes";
  const file = `${folder}/${names.length}.db`;
  copyFileSync(filled, file);
  const database = `sqlite:${file}`;
  const buildSeconds: Record<string, number> = {};
  for (const index of names) {
    const { seconds } = await runProgram([version.command, "index", "create", index, "--database", database]);
    buildSeconds[index] = seconds;
    progress(`${index} built in ${seconds.toFixed(1)} s`);
  }
  const { stdout } = await runProgram([
    version.command,
    "token",
    "create",
    "--name",
    "page",
    "--database",
    database,
  ]);
  const store = new CountedStore(name, async () => (await countSqliteRows(file)) - plants);
  const subject = await startPlantstore(setup, version, { name, database, token: stdout.trim(), store });
  const firstId = setup.nextFirstId();
  for (let count = 0; count < newPlants; count++) await createPlant(subject, firstId + count);
  return { ...subject, buildSeconds };
}

const names = ["Monstera deliciosa", "Ficus elastica", "Calathea orbifolia", "Hoya carnosa"];

/** Numbers of seven digits all over the names. */
function nameOf(number: number, plants: number): string {
  return `${names[(number * 7_368_787) % 4]} ${(number * 7_919) % plants}`;
}

/** A tag whose plants all have the same one of the names: both follow from the number of the plant. */
function tagWith(name: number, round: number): number {
  return (name + 4 * round) % 1_000;
}

/** Ids in the order of the table, which is filled in one go; neither names nor tags are. */
function storePlants(file: string, plants: number): void {
  using database = new Database(file);
  // What is there after a crash is removed.
  database.run("PRAGMA journal_mode = OFF");
  database.run("PRAGMA synchronous = OFF");
  const cases = names.map((name, index) => `WHEN ${index} THEN '${name} '`).join(" ");
  database.run(
    `INSERT INTO plants (id, name, tag)
     WITH RECURSIVE numbers (number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${plants - 1})
     SELECT (1 + number) * ${idStep},
            CASE number * 7368787 % 4 ${cases} END || (number * 7919 % ${plants}),
            'tag ' || (number * 7368787 % 1000)
     FROM numbers`,
  );
  database.run("PRAGMA journal_mode = WAL");
}

/** The milliseconds of each view, and of those that open the page and start an export. */
async function measure(
  page: Page,
  views: Record<string, View>,
  newId: number,
): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  await page.locator("tbody tr").first().waitFor();
  figures[firstPaint] = await page.evaluate<number>(
    "performance.getEntriesByName('first-contentful-paint')[0].startTime",
  );
  const opened = `performance.getEntriesByType("resource").find(({ name }) => name.includes(${JSON.stringify(list)}))`;
  while (!(await page.evaluate<boolean>(`${opened} !== undefined`))) await Bun.sleep(20);
  figures["opened, ms"] = await page.evaluate<number>(`${opened}.responseEnd`);
  await page.evaluate(watchRequests);
  const silences: number[] = [];
  for (const [name, view] of Object.entries(views)) {
    const { ms, silentMs } = await page.evaluate<{ ms: number; silentMs: number }>(runScript(view));
    figures[`${name}, ms`] = ms;
    silences.push(silentMs);
    if (view.request === "api/plant?") await page.keyboard.press("Escape");
  }
  figures["adding a plant, ms"] = await addPlant(page, newId);
  figures["export, ms"] = await startExport(page);
  const times = Object.values(figures);
  return {
    ...figures,
    [slowestView]: Math.max(...times),
    [longestSilence]: Math.max(...silences),
  };
}

/** Counts the responses of the page's requests by their path. */
const watchRequests = `
  window.responses = [];
  const send = window.fetch;
  window.fetch = async (url, init) => {
    const response = await send(url, init);
    const text = await response.text();
    setTimeout(() => window.responses.push(String(url)));
    return new Response(text, response);
  };`;

/** Acts, and waits for the response and for the frame after it; \`silentMs\` is the time until there was progress or the view. */
function runScript({ act, request }: View): string {
  return `(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    await frame();
    window.responses = [];
    const start = performance.now();
    let shownAt;
    { ${act} }
    const request = ${JSON.stringify(request)};
    while (!window.responses.some((url) => url === request || (request.endsWith("?") && url.startsWith(request)))) {
      await frame();
      if (document.querySelector(".results progress") !== null) shownAt ??= performance.now();
    }
    // The page reads the response as JSON, and renders it.
    await frame();
    await frame();
    const end = performance.now();
    return { ms: end - start, silentMs: (shownAt ?? end) - start };
  })()`;
}

/** From the submission of the form until it says that the plant is stored. */
async function addPlant(page: Page, id: number): Promise<number> {
  await page.getByRole("button", { name: "Add a plant" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Id", { exact: true }).fill(String(id));
  await dialog.getByLabel("Name", { exact: true }).fill("Monstera");
  const { ms } = await page.evaluate<{ ms: number }>(
    runScript({ act: 'document.querySelector("dialog form").requestSubmit()', request: "api/plants" }),
  );
  await dialog.getByText("is stored.").waitFor();
  await page.keyboard.press("Escape");
  return ms;
}

/** From the click until the dialog shows how many plants are sent. The download is cancelled then. */
async function startExport(page: Page): Promise<number> {
  const downloaded = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export", exact: true }).click();
  const ms = await page.evaluate<number>(`(async () => {
    const dialog = document.querySelector("dialog");
    const start = performance.now();
    dialog.querySelector("button.main").click();
    while (dialog.querySelector("[role=status]").textContent === "" && dialog.querySelector("progress") === null)
      await new Promise(requestAnimationFrame);
    return performance.now() - start;
  })()`);
  await (await downloaded).cancel();
  await page.keyboard.press("Escape");
  return ms;
}
