// The console in Chromium: plants, search, export, tokens, the log-in, the charts, and
// accessibility. The tests run at the same time, each with a server and a profile of its own: the
// page polls every 5 seconds, for which most of them wait.

import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { bundlePage } from "../../../src/console/page-bundle.ts";
import { accessibilityFaults, type Page, TestBrowser, untilTrue } from "../../support/browser.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { storePlants } from "../../support/stored-plants.ts";
import {
  assertNoHorizontalScroll,
  backgroundOf,
  row,
  searchFor,
  withPage,
  withServer,
} from "./console-page.ts";

const browser = new TestBrowser();
afterAll(() => browser[Symbol.asyncDispose]());

/** The page's scripts with other fields than those of this service. */
async function bundleWithFields(fields: string): Promise<string> {
  const module = join(import.meta.dir, "../../../src/core/contract/resource.ts");
  const source = await Bun.file(module).text();
  const replaced = source
    .replace("{ text }", "{ boolean, int32, text }")
    .replace(/(?<=fields: )\{[\s\S]*?\n {2}\}/, fields);
  return bundlePage({ [module]: replaced });
}

test.concurrent("a plant that a client creates appears without a reload, and is found by id, name and tag", async () => {
  await withPage(browser, {}, async ({ page, target, console }) => {
    await page.goto(console);
    await page.getByText("There are no plants yet.").waitFor();
    await post(target, plantJson(1n, "Ficus elastica", "tree"));
    await row(page, 1n).waitFor();
    // New plants are marked, unless all plants on the page are new.
    expect(await page.locator("tr.new").count()).toBe(0);
    await post(target, plantJson(-9007199254740993n, "Monstera deliciosa", "tropical"));
    // Until the next reload.
    await page.locator("tr:not(.new) + tr.new").getByText("Monstera deliciosa").waitFor();
    // A row under the pointer has the colour of a new one, on which its tag is still to be seen.
    await row(page, -9007199254740993n).hover();
    expect(await backgroundOf(page, "tr:hover .chip")).not.toBe(await backgroundOf(page, "tr:hover"));
    await page.getByRole("button", { name: "Revoke first" }).hover();
    expect(await backgroundOf(page, ".quiet:hover")).not.toBe(await backgroundOf(page, ".quiet:not(:hover)"));
    await page.getByLabel("Inventory").getByText("2", { exact: true }).waitFor();

    // While typing, without Enter.
    await page.getByRole("searchbox").fill("Mons");
    await page.getByText(/^1 plant /).waitFor();
    expect(await row(page, -9007199254740993n).textContent()).toContain("Monstera deliciosatropical");
    await searchFor(page, "tag:tree");
    await row(page, 1n).waitFor();
    await row(page, -9007199254740993n).waitFor({ state: "detached" });
    await searchFor(page, "-9007199254740993");
    await row(page, -9007199254740993n).waitFor();
    expect(await page.getByRole("region", { name: "List of plants" }).getByRole("row").count()).toBe(2);
    await searchFor(page, 'tag:"none\'s"');
    await page.getByText(`No plant was found for tag:"none's".`).waitFor();
    await searchFor(page, "colour:green");
    await page.getByText("There is no filter colour: here.").waitFor();
    // By a click on a tag: the one in the figures, and the one in the list.
    await searchFor(page, "");
    await page.getByText("Plants by tag").click();
    await page.getByLabel("Search for the tag tropical").first().click();
    await page.getByText(/^1 plant /).waitFor();
    await searchFor(page, "");
    await row(page, 1n).waitFor();
    await row(page, 1n).getByLabel("Search for the tag tree").click();
    await row(page, -9007199254740993n).waitFor({ state: "detached" });
  });
});

test.concurrent("the search, its order and page, and an open plant are in the address", async () => {
  await withPage(browser, {}, async ({ page, server, target, console }) => {
    await storePlants(
      server.database,
      Array.from({ length: 120 }, (_, id) => ({
        id: BigInt(id),
        name: `Hoya ${id}`,
        tag: 'a "tag" \\ & more',
      })),
    );
    await post(target, plantJson(1_000n, "Ficus"));
    await page.goto(console);
    await row(page, 1_000n).waitFor();
    await searchFor(page, 'Hoya tag:"a \\"tag\\" \\\\ & more"');
    await row(page, 119n).waitFor();
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await page.getByRole("button", { name: "Next" }).click();
    await row(page, 69n).waitFor();
    await untilTrue(page, "document.querySelector('.plants').getBoundingClientRect().top >= -1");
    const address = page.url();
    // Sent to another operator.
    const other = await page.context().newPage();
    await other.goto(address);
    await row(other, 69n).waitFor();
    expect(await other.getByRole("searchbox").inputValue()).toBe('Hoya tag:"a \\"tag\\" \\\\ & more"');
    await other.getByRole("button", { name: "Previous" }).click();
    await row(other, 119n).waitFor();
    await other.goBack();
    await row(other, 69n).waitFor();
    await row(other, 69n).getByText("Hoya 69").click();
    await other.getByRole("dialog", { name: "Plant 69" }).waitFor();
    expect(other.url()).toContain("plant=69");
    const third = await page.context().newPage();
    await third.goto(other.url());
    await third.getByRole("dialog", { name: "Plant 69" }).getByText("Hoya 69").waitFor();
    await other.goBack();
    await other.getByRole("dialog").waitFor({ state: "detached" });
    // A click on the order that is shown turns it around.
    await searchFor(page, "");
    await row(page, 1_000n).waitFor();
    await page.getByRole("columnheader").getByRole("button", { name: "Name" }).click();
    await page.getByText("Sorted by name, ascending.").waitFor();
    await page.getByRole("columnheader").getByRole("button", { name: "Id" }).click();
    await row(page, 1_000n).waitFor();
    await page.getByText("Sorted by id, descending.").waitFor();
    await page.getByRole("columnheader").getByRole("button", { name: "Id" }).click();
    await row(page, 0n).waitFor();
    expect(page.url()).toContain("direction=ascending");
  });
});

test.concurrent("a plant is edited and deleted, but not what another operator has changed meanwhile", async () => {
  await withPage(browser, { expectedFaults: [/ 409/] }, async ({ page, server, target, console }) => {
    const name = "Monstera\nwith a second line";
    await post(target, plantJson(9007199254740993n, name, "tropical"));
    await page.goto(`${console}#plant=9007199254740993`);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Edit" }).click();
    expect(await dialog.getByRole("textbox", { name: "Name" }).inputValue()).toBe(name);
    expect(await dialog.getByRole("button", { name: "Continue" }).isDisabled()).toBe(true);
    await dialog.getByRole("textbox", { name: "Name" }).fill("Ficus \u202e elastica");
    await dialog.getByLabel("It has a tag").uncheck();
    await dialog.getByRole("button", { name: "Continue" }).click();
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Change the plant" }).click();
    await dialog.getByRole("button", { name: "Edit" }).waitFor();
    await row(page, 9007199254740993n).getByText("Ficus").waitFor();
    expect((await server.command("get", "9007199254740993")).stdout).toBe(
      '{"id":9007199254740993,"name":"Ficus \u202e elastica"}\n',
    );
    // Another operator changes it while the dialog is open.
    await server.command("update", "9007199254740993", "--tag", "changed elsewhere");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete the plant" }).click();
    await dialog.getByText("has changed since you opened it. Nothing was saved.").waitFor();
    await dialog.getByText("changed elsewhere").first().waitFor();
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await dialog.getByRole("button", { name: "Delete the plant" }).click();
    await dialog.getByText("No plant has the id 9007199254740993.").waitFor();
    await page.getByText("There are no plants yet.").waitFor();
    // From its history the deletion is undone, and then the change by the command; then it is
    // deleted by the keyboard.
    const history = dialog.getByRole("list", { name: "History" });
    await history.getByRole("listitem").nth(2).waitFor();
    expect(await history.getByRole("listitem").count()).toBe(3);
    await history
      .getByText(/by the console at 127\.0\.0\.1/)
      .first()
      .waitFor();
    await history.getByRole("button", { name: "Undo" }).first().click();
    await dialog.getByText("1 edit undone.").waitFor();
    await row(page, 9007199254740993n).getByText("changed elsewhere").waitFor();
    await history.getByRole("listitem").nth(3).waitFor();
    await history.getByRole("listitem").nth(2).getByRole("button", { name: "Undo" }).click();
    await row(page, 9007199254740993n).getByText("changed elsewhere").waitFor({ state: "detached" });
    // The first edit cannot be undone any more once the plant differs from it.
    await server.command("update", "9007199254740993", "--tag", "third");
    await history.getByRole("button", { name: "Undo" }).last().click();
    await dialog.getByText("0 edits undone, 1 plant changed since and left as they are.").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Delete", exact: true }).press("Enter");
    await dialog.getByRole("button", { name: "Delete the plant" }).press("Enter");
    await dialog.getByText("No plant has the id 9007199254740993.").waitFor();
    expect((await server.command("get", "9007199254740993")).exitCode).toBe(1);
  });
});

test.concurrent("fields of every type are listed, shown, edited and sent, each with the input of its type", async () => {
  // The fields of the page, and a plant that has them.
  const fields = `{
    name: required(text(), "Monstera deliciosa"),
    tag: optional(text(), "tropical"),
    latin_name: optional(text(), "Monstera deliciosa"),
    height_cm: optional(int32(), 120),
    is_toxic: required(boolean(), true),
  }`;
  const plant = {
    id: "9007199254740993",
    name: "Monstera",
    tag: null,
    latin_name: null,
    height_cm: 120,
    is_toxic: true,
    createdAt: null,
    token: null,
  };
  await withPage(browser, {}, async ({ page, console }) => {
    const sent: unknown[] = [];
    await page.route("**/app.js", async (route) =>
      route.fulfill({ contentType: "text/javascript", body: await bundleWithFields(fields) }),
    );
    await page.route("**/api/plant?*", (route) => route.fulfill({ json: plant }));
    await page.route("**/api/plant/change", (route) => {
      sent.push(route.request().postDataJSON().replacement);
      return route.fulfill({ json: {} });
    });
    const listed = {
      plants: [{ ...plant, isTruncated: false }],
      order: "id",
      isDescending: true,
      previous: null,
      next: null,
      searchedTo: null,
      hasPlantWithId: false,
    };
    await page.route("**/api/plants?*", (route) => route.fulfill({ json: listed }));
    await page.route("**/api/plants", (route) => {
      sent.push(route.request().postDataJSON().body);
      return route.fulfill({ json: { status: 200, headers: [], body: "{}" } });
    });
    await page.goto(console);
    await row(page, 9007199254740993n).waitFor();
    const headers = await page
      .getByRole("region", { name: "List of plants" })
      .getByRole("columnheader")
      .allTextContents();
    expect(headers.slice(4, -1)).toEqual(["Latin name", "Height cm", "Is toxic"]);
    const cells = await row(page, 9007199254740993n).getByRole("cell").allTextContents();
    expect(cells.slice(4, -1)).toEqual(["", "120", "true"]);
    await page.getByText("Any parts of a name or tag or latin name").waitFor();

    await page.getByRole("link", { name: "Plant 9007199254740993" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("120", { exact: true }).waitFor();
    expect(await dialog.getByRole("term").allTextContents()).toEqual([
      "Name 8 characters",
      "Tag ",
      "Latin name ",
      "Height cm ",
      "Is toxic ",
    ]);
    await dialog.getByRole("button", { name: "Edit" }).click();
    const inputs = (names: string) =>
      dialog.locator(names).evaluateAll((found) => found.map((input) => input.getAttribute("name")));
    expect(await inputs("[name=name], [type=checkbox], [inputmode=decimal], select")).toEqual([
      "name",
      "has-tag",
      "has-latin_name",
      "has-height_cm",
      "height_cm",
      "is_toxic",
    ]);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await dialog.getByRole("button", { name: "Continue" }).isDisabled()).toBe(true);
    await dialog.getByLabel("It has a latin name").check();
    await dialog.getByRole("textbox", { name: "Latin name" }).fill("M. deliciosa");
    await dialog.getByLabel("Height cm", { exact: true }).fill("-5");
    await dialog.getByLabel("Is toxic").selectOption("false");
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.getByRole("button", { name: "Change the plant" }).click();
    await dialog.getByRole("button", { name: "Edit" }).waitFor();
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Add a plant" }).click();
    for (const field of ["name", "tag", "latin_name", "height_cm", "is_toxic"])
      expect(`${field}: ${await dialog.locator(`[name=${field}]`).count()} input`).toBe(`${field}: 1 input`);
    await dialog.getByLabel("Id").fill("7");
    await dialog.getByLabel("Name", { exact: true }).fill("Hoya");
    await dialog.getByLabel("Height cm").fill("12");
    await dialog.getByLabel("Is toxic").selectOption("true");
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Add plant" }).click();
    await dialog.getByText("Plant 7, Hoya, is stored.").waitFor();
    expect(sent).toEqual([
      '{"id":9007199254740993,"name":"Monstera","latin_name":"M. deliciosa","height_cm":-5,"is_toxic":false}',
      '{"id":7,"name":"Hoya","height_cm":12,"is_toxic":true}',
    ]);
  });
});

test.concurrent("plants are selected, on the page or all that a search finds, then changed and deleted in one run", async () => {
  await withPage(browser, { look: "narrow" }, async ({ page, server, console }) => {
    await storePlants(
      server.database,
      Array.from({ length: 130 }, (_, id) => ({
        id: BigInt(id),
        name: id < 120 ? `Hoya ${id}` : `Aloe ${id}`,
      })),
    );
    await page.goto(console);
    const bar = page.getByRole("group", { name: "Selected plants" });
    const dialog = page.getByRole("dialog");
    await row(page, 129n).waitFor();
    await page.getByRole("columnheader").getByRole("button", { name: "Id" }).click();
    await row(page, 0n).waitFor();
    await page.getByLabel("Select the plants of this page").check();
    await bar.getByText("50 plants selected").waitFor();
    await bar.getByRole("button", { name: "Select none" }).click();
    await page.getByRole("columnheader").getByRole("button", { name: "Id" }).click();
    await row(page, 129n).waitFor();
    await page.getByLabel("Select plant 129", { exact: true }).check();
    await page.getByLabel("Select plant 128", { exact: true }).press("Space");
    await bar.getByText("2 plants selected").waitFor();
    await bar.getByRole("button", { name: "Set the tag" }).click();
    await dialog.getByLabel("Tag").fill("succulent");
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Change 2 plants" }).click();
    await page.getByText(/2 plants changed, in the run/).waitFor();
    await row(page, 129n).getByText("succulent").waitFor();
    await searchFor(page, "hoya");
    await row(page, 119n).waitFor();
    await row(page, 129n).waitFor({ state: "detached" });
    await page.getByLabel("Select plant 119", { exact: true }).check();
    await bar.getByRole("button", { name: "Select all found" }).click();
    await bar.getByText("120 plants selected").waitFor();
    await bar.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("heading", { name: "Delete 120 plants?" }).waitFor();
    await dialog.getByRole("button", { name: "Delete 120 plants" }).click();
    await page.getByText(/120 plants deleted, in the run/).waitFor();
    await page.getByText("No plant was found for hoya.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("120 edits undone.").waitFor();
    await row(page, 119n).waitFor();
    // What has changed since it was shown is left as it is.
    await page.getByLabel("Select plant 119", { exact: true }).check();
    await page.getByLabel("Select plant 118", { exact: true }).check();
    await bar.getByText("2 plants selected").waitFor();
    await server.command("update", "118", "--tag", "changed elsewhere");
    await bar.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete 2 plants" }).click();
    await page
      .getByText(/1 plant deleted, in the run .+ 1 plant had changed meanwhile and was left as it is: 118\./)
      .waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("1 edit undone.").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect((await server.command("stats")).stdout).toContain("130");
  });
});

test.concurrent("a click on a bar of the chart of errors lists the errors of that minute", async () => {
  await withPage(browser, {}, async ({ page, target, console }) => {
    await page.goto(console);
    for (let sent = 0; sent < 3; sent++) await post({ ...target, token: "pst_wrong" }, plantJson(1n, "x"));
    await post(target, plantJson(1n, "Hoya"));
    const chart = page.getByRole("img", { name: /^Errors by code/ });
    await chart.waitFor();
    // The newest bar, or an earlier one where a minute has ended meanwhile.
    const readout = page.getByRole("figure").filter({ has: chart }).locator(".readout b").first();
    await chart.press("ArrowRight");
    while (!/[1-9]/.test((await readout.textContent()) ?? "")) await chart.press("ArrowLeft");
    await chart.press("Enter");
    const requests = page.getByRole("region", { name: "Recent requests" });
    await requests.getByText(/From [\d:]+ to [\d:]+\./).waitFor();
    await requests.getByRole("cell", { name: "40101" }).first().waitFor();
    await requests.getByRole("cell", { name: "created" }).waitFor({ state: "detached" });
    await requests.getByRole("button", { name: "Show all times" }).click();
    await requests.getByRole("cell", { name: "created" }).waitFor();
    // By the mouse, on the bar of the newest minute.
    const box = (await chart.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.click(box.x + box.width - 18, box.y + box.height / 2);
    await requests.getByText(/From [\d:]+ to [\d:]+\./).waitFor();
  });
});

test.concurrent("an edit keeps line ends, and what was typed where another operator was faster", async () => {
  await withPage(browser, { expectedFaults: [/ 409/] }, async ({ page, server, target, console }) => {
    await post(target, plantJson(5n, "one\r\ntwo\nthree\rfour", "old"));
    await page.goto(`${console}#plant=5`);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Edit" }).click();
    await dialog.getByRole("textbox", { name: "Tag" }).fill("typed");
    await server.command("update", "5", "--tag", "changed elsewhere");
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.getByRole("button", { name: "Change the plant" }).click();
    await dialog.getByText("has changed since you opened it. Nothing was saved.").waitFor();
    expect(await dialog.getByRole("textbox", { name: "Tag" }).inputValue()).toBe("typed");
    await dialog.getByRole("textbox", { name: "Name" }).press("End");
    await dialog.getByRole("textbox", { name: "Name" }).pressSequentially("!");
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.getByText("changed elsewhere").waitFor();
    await dialog.getByRole("button", { name: "Change the plant" }).click();
    await dialog.getByRole("button", { name: "Edit" }).waitFor();
    const { name, tag } = JSON.parse((await server.command("get", "5")).stdout);
    expect(tag).toBe("typed");
    expect(name.replace("!", "")).toBe("one\r\ntwo\nthree\rfour");
    expect(name).toContain("!");
  });
});

test.concurrent("an issued token is shown once, a revoked one stops working, and one is rotated with an overlap", async () => {
  await withPage(browser, {}, async ({ page, server, target, console }) => {
    await server.createToken("soon", 3_599_000);
    await page.goto(console);
    await page.getByText("expires in 1 hour").waitFor();
    await page.getByRole("button", { name: "Issue a token" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("a <b>client</b>");
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    const issued = await page.getByRole("status", { name: "Token" }).textContent();
    expect(issued).toMatch(/^pst_[\w-]{43}$/);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Done" }).click();
    expect(await page.content()).not.toContain(String(issued));
    const client = { url: target.url, token: String(issued) };
    expect((await post(client, plantJson(1n, "Monstera"))).status).toBe(200);

    const tokens = page.getByRole("region", { name: "Tokens" });
    await tokens.getByRole("button", { name: "Revoke a <b>client</b>" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
    await tokens.getByText("1 expired or revoked").click();
    await tokens.getByText("Revoked", { exact: true }).waitFor();
    const refused = await eventually(
      "the revoked token is rejected",
      () => post(client, plantJson(1n, "Monstera")),
      ({ status }) => status !== 200,
    );
    expect(refused.json).toMatchObject({ error: 40101 });
    // The other one is rotated, and its predecessor works for the overlap.
    await tokens.getByText("Active · no use recorded · no expiry").first().waitFor();
    await tokens.getByRole("button", { name: "Rotate the shop" }).click();
    await page.getByLabel("The new token expires").selectOption({ label: "in 90 days" });
    await page.getByRole("dialog").getByRole("button", { name: "Rotate", exact: true }).click();
    const rotated = (await page.getByRole("status", { name: "Token" }).textContent()) ?? "";
    await page.getByText("works for the overlap: it ends in 7 days.").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Done" }).click();
    await tokens.getByText("Replaced · ").waitFor();
    await tokens.getByText("expires in 90 days").waitFor();
    for (const token of [rotated, target.token])
      expect((await post({ url: target.url, token }, plantJson(1n, "Monstera"))).status).toBe(200);
  });
});

const hostile = [
  "<script>document.title = 'taken'</script>",
  "<img src=x onerror=\"document.title = 'taken'\">",
  "\u202egnp.exe\u202d \u2066 never closed",
  "&lt;b&gt; {{7*7}} %3Cscript%3E",
  "line one\nline two\u2028three\u0001\u007f\ufeff",
  "ש".repeat(200),
  "a\u0301".repeat(400),
];

test.concurrent("hostile names are shown as text in lists and dialogs, and exported unchanged", async () => {
  await withPage(browser, {}, async ({ page, target, console }) => {
    for (const [index, name] of hostile.entries()) await post(target, plantJson(BigInt(index), name, name));
    await post(target, plantJson(100n, "x".repeat(100_000), "y".repeat(100_000)));
    await page.goto(console);
    await row(page, 100n).waitFor();
    for (const [index, name] of hostile.entries()) {
      const shown = row(page, BigInt(index)).locator("bdi").first();
      expect(await shown.textContent()).toBe([...name].slice(0, 300).join(""));
    }
    await row(page, 2n).getByRole("link").click();
    await page.getByRole("dialog").waitFor();
    expect(await page.getByRole("dialog").locator("bdi").first().textContent()).toBe(hostile[2] ?? "");
    await page.keyboard.press("Escape");
    await row(page, 100n).getByRole("link").click();
    await page.getByRole("dialog").getByText("100,000 characters").first().waitFor();
    expect((await page.getByRole("dialog").locator("bdi").first().textContent())?.length).toBe(100_000);
    await page.keyboard.press("Escape");

    expect(await page.title()).toBe("Plant Store console");
    expect(await page.locator("script:not([src])").count()).toBe(0);
    expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(1280);
  });
});

test.concurrent("an error is shown in place of the results, and a failed reload until it succeeds", async () => {
  await withPage(browser, { expectedFaults: [/ 503/, / 400/] }, async ({ page, target, console }) => {
    await post(target, plantJson(1n, "Ficus"));
    await page.goto(console);
    await row(page, 1n).waitFor();
    const alert = page.getByRole("region", { name: "Plants", exact: true }).getByRole("alert");
    await page.goto(`${console}#after=nonsense`);
    await alert.filter({ hasText: "There is no such page" }).waitFor();
    await row(page, 1n).waitFor({ state: "detached" });
    await searchFor(page, "");
    await row(page, 1n).waitFor();
    // The list below a search that is not understood stays live.
    await searchFor(page, "colour:green");
    await alert.filter({ hasText: "There is no filter colour: here." }).waitFor();
    await post(target, plantJson(2n, "Hoya"));
    await row(page, 2n).waitFor();
    expect(await alert.textContent()).toContain("There is no filter colour: here.");
    await searchFor(page, "");
    const failure = { status: 503, json: { message: "The database request failed." } };
    await page.route(/api\/plants/, (route) => route.fulfill(failure));
    await alert.filter({ hasText: "The database request failed." }).waitFor();
    await page.unrouteAll();
    await alert.waitFor({ state: "hidden" });
    await row(page, 1n).waitFor();
  });
});

test.concurrent("a server that is started again is live again", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await using first = await RunningServer.start({ database });
  const adminUrl = await first.adminUrl();
  await browser.visit(`${adminUrl}/console/`, { expectedFaults: [/ERR_/] }, async (page) => {
    await page.getByText("No plant was created in the last hour.").first().waitFor();
    await first.stop();
    await page.getByText("The server is unreachable; retrying.").waitFor();
    const args = ["--admin-port", new URL(adminUrl).port];
    await using second = await RunningServer.start({ database, args });
    await post(await second.target(), plantJson(1n, "Monstera"));
    await row(page, 1n).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
  });
});

test.concurrent("with a password the page works below a path prefix that a proxy removes", async () => {
  const password = "four random words it is";
  const args = ["--admin-password-hash", await Bun.password.hash(password, "argon2id")];
  const expectedFaults = [/status of 403/, /status of 401/];
  const reload = Promise.withResolvers<void>();
  const loggedOut = Promise.withResolvers<void>();
  let isReloadHeld = false;
  await withPage(browser, { args, expectedFaults }, async ({ page, server }) => {
    const adminUrl = await server.adminUrl();
    await using proxy = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        if (!pathname.startsWith("/shop/")) return new Response(null, { status: 404 });
        const { method, headers } = request;
        const body = method === "POST" ? await request.text() : null;
        const address = `${adminUrl}${pathname.slice("/shop".length)}${search}`;
        if (isReloadHeld && pathname.endsWith("/history")) {
          reload.resolve();
          await loggedOut.promise;
        }
        return fetch(address, { method, headers, body, redirect: "manual", decompress: false });
      },
    });
    await page.goto(`${proxy.url.origin}/shop/`);
    await page.getByLabel("Password").fill("three random words");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Wrong password.").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel("Password").fill(password);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Tokens" }).waitFor();
    const cookies = () => page.context().cookies(`${proxy.url.origin}/shop/console/api/tokens`);
    expect((await cookies()).length).toBe(1);
    // A reload that the log-out overtakes must end without a response, which would be a 401.
    const aborted = page.waitForEvent("requestfailed", (request) => request.url().includes("/history"));
    isReloadHeld = true;
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
    await reload.promise;
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Password").waitFor();
    expect(await cookies()).toEqual([]);
    expect(await page.getByText("Tokens").count()).toBe(0);
    isReloadHeld = false;
    loggedOut.resolve();
    await aborted;
    // The log-out of a second tab is noticed.
    await page.getByLabel("Password").fill(password);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Tokens" }).waitFor();
    const other = await page.context().newPage();
    await other.goto(`${proxy.url.origin}/shop/console/`);
    await other.getByRole("button", { name: "Log out" }).click();
    await page.bringToFront();
    await page.getByLabel("Password").waitFor();
  });
});

test.concurrent("all controls are reachable with the keyboard", async () => {
  await withPage(browser, {}, async ({ page, target, console }) => {
    await post(target, plantJson(5n, "Monstera"));
    await page.goto(console);
    await row(page, 5n).waitFor();
    const reached: string[] = [];
    for (let step = 0; step < 40; step++) {
      await page.keyboard.press("Tab");
      reached.push(
        await page.evaluate<string>(
          'document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? ""',
        ),
      );
    }
    const expected = [
      "Import",
      "Export",
      "Add a plant",
      "Search plants",
      "Search",
      "Plant 5",
      "Last 24 hours",
      "Issue a token",
      "Rotate the shop",
      "Revoke the shop",
      "Filter by code",
    ];
    expect(expected.filter((name) => !reached.includes(name))).toEqual([]);
    await row(page, 5n).getByRole("link").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Plant 5" }).waitFor();
    await page.keyboard.press("Escape");
    expect(await page.evaluate<string>("document.activeElement?.textContent")).toBe("5");
  });
});

test.concurrent("light, dark and narrow pages have no serious accessibility violations", async () => {
  await withServer({ args: ["--access-log", "0"] }, async ({ server, target, console }) => {
    await server.createToken("ci pipeline", 90 * 86_400_000);
    await server.createToken("warehouse import");
    // Data for the charts: creates, a duplicate and errors.
    for (let id = 1n; id <= 15n; id++)
      await post(target, plantJson(id * 104_729n, "Monstera", id % 2n === 0n ? "tropical" : undefined));
    await post(target, plantJson(104_729n, "another"));
    await post(target, plantJson(1n, "Ficus", "x".repeat(100)));
    await post({ ...target, token: "pst_wrong" }, plantJson(1n, "Monstera"));
    await post(target, plantJson(9007199254740993n, "<script>alert('Monstera')</script>", "hostile"));
    const ready = async (page: Page) => {
      await row(page, 9007199254740993n).waitFor();
      await page.getByText("warehouse import").waitFor();
      await page.getByRole("img", { name: /^Errors by code/ }).waitFor();
      await page.getByText("Plants by tag").click();
      expect(await accessibilityFaults(page)).toEqual([]);
      const headings = await page.getByRole("main").getByRole("heading", { level: 2 }).allTextContents();
      expect(headings[0]).toBe("Plants");
      await assertNoHorizontalScroll(page);
      await page.setViewportSize({ width: 320, height: 700 });
      for (const name of ["Add a plant", "Export", "Import"]) {
        await assertNoHorizontalScroll(page);
        await page.getByRole("button", { name, exact: true }).click();
        await page.getByRole("dialog").waitFor();
        await assertNoHorizontalScroll(page);
        await page.keyboard.press("Escape");
      }
      // Beside a title that fills the line.
      await row(page, 9007199254740993n).getByRole("link").click();
      await page.getByRole("button", { name: "Delete" }).click();
      const title = await page.getByRole("heading", { name: "Delete plant 9007199254740993?" }).boundingBox();
      const close = await page.getByRole("button", { name: "Close" }).boundingBox();
      expect(close?.x).toBeGreaterThan((title?.x ?? 0) + (title?.width ?? 0));
    };
    await browser.visitInEveryLook(console, ready);
  });
});
