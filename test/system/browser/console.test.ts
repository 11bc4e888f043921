// The console in Chromium, one test for each of its pages. The tests run at the same time, each
// with a server and a profile of its own: the page polls every 5 seconds, for which most of them
// wait.

import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { accessibilityFaults, type Page, TestBrowser, untilTrue } from "../../support/browser.ts";
import { documentWith } from "../../support/console.ts";
import { thingsDocument } from "../../support/descriptions.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { storePlants } from "../../support/stored-plants.ts";
import { assertNoHorizontalScroll, row, searchFor, withPage, withServer } from "./console-page.ts";

const browser = new TestBrowser();
afterAll(() => browser[Symbol.asyncDispose]());

const focusedName = (page: Page) => page.evaluate<string | null>("document.activeElement?.name ?? null");

test.concurrent("the list shows what a client creates without a reload, and finds plants by id, name and tag", async () => {
  await withPage(browser, { expectedFaults: [/ 503/] }, async ({ page, target, console }) => {
    await page.goto(console);
    await page.getByText("There are no plants yet.").waitFor();
    await post(target, plantJson(1n, "Ficus elastica", "tree"));
    await row(page, 1n).waitFor();
    await post(target, plantJson(-9007199254740993n, "Monstera deliciosa", "tropical"));
    await row(page, -9007199254740993n).waitFor();
    await page.getByText(/^2 plants, /).waitFor();

    // While typing, without Enter.
    await page.getByRole("searchbox").fill("Mons");
    await page.getByText("1 plant found.").waitFor();
    expect(await row(page, -9007199254740993n).textContent()).toContain("Monstera deliciosatropical");
    await searchFor(page, "-9007199254740993");
    await page.getByText("1 plant found.").waitFor();
    await searchFor(page, 'tag:"none\'s"');
    await page.getByText(`No plant was found for tag:"none's".`).waitFor();
    await searchFor(page, "");
    await row(page, 1n).getByLabel("Search for the tag tree").click();
    await row(page, -9007199254740993n).waitFor({ state: "detached" });
    // A search that is not understood leaves the list in place.
    await searchFor(page, "colour:green");
    await page.getByText("There is no filter colour: here.").waitFor();
    await row(page, 1n).waitFor();
    // A failed reload is shown until one succeeds.
    await searchFor(page, "");
    await row(page, -9007199254740993n).waitFor();
    const failure = { status: 503, json: { message: "The database request failed." } };
    await page.route(/api\/plants/, (route) => route.fulfill(failure));
    const alert = page.getByRole("region", { name: "Plants", exact: true }).getByRole("alert");
    await alert.filter({ hasText: "The database request failed." }).first().waitFor();
    await row(page, 1n).waitFor();
    await page.unrouteAll();
    await alert.first().waitFor({ state: "hidden" });
  });
});

test.concurrent("the search, its page, and an open plant are in the address", async () => {
  await withPage(browser, {}, async ({ page, server, console }) => {
    await storePlants(
      server.database,
      Array.from({ length: 120 }, (_, id) => ({
        id: BigInt(id),
        name: `Hoya ${id}`,
        tag: 'a "tag" \\ & more',
      })),
    );
    await page.goto(console);
    await searchFor(page, 'Hoya tag:"a \\"tag\\" \\\\ & more"');
    await row(page, 119n).waitFor();
    await page.getByRole("button", { name: "Next page" }).click();
    await row(page, 69n).waitFor();
    await untilTrue(page, "document.querySelector('.plants').getBoundingClientRect().top >= -1");
    // Sent to another operator.
    const other = await page.context().newPage();
    await other.goto(page.url());
    await row(other, 69n).waitFor();
    expect(await other.getByRole("searchbox").inputValue()).toBe('Hoya tag:"a \\"tag\\" \\\\ & more"');
    await other.getByRole("button", { name: "First page" }).click();
    await row(other, 119n).waitFor();
    await other.goBack();
    await row(other, 69n).getByText("Hoya 69").click();
    await other.getByRole("dialog", { name: "Plant 69" }).waitFor();
    expect(other.url()).toContain("plant=69");
    await other.goBack();
    await other.getByRole("dialog").waitFor({ state: "detached" });
  });
});

test.concurrent("a click shows another collection, which is in the address, and a step back the last one", async () => {
  const args = ["--contract", join(import.meta.dir, "../../contracts/estate.yaml")];
  await withPage(browser, { args }, async ({ page, console }) => {
    await page.goto(`${console}#collection=couriers&q=Ada`);
    await page.getByText("No courier was found for Ada.").waitFor();
    await page.getByRole("link", { name: "Special events" }).click();
    await page.getByText("There are no special events yet.").waitFor();
    expect(page.url()).toEndWith("#collection=special-events");
    // The server makes the id.
    await page.getByRole("button", { name: "Add a special event" }).click();
    await page.keyboard.type("Pirate workshop");
    await page.getByLabel("Location").fill("Room 7");
    await page.keyboard.press("Enter");
    await page.getByText(/^Special event \d+ is stored\.$/).waitFor();
    await page.keyboard.press("Escape");
    await page.getByText(/^1 special event, /).waitFor();
    await page.goBack();
    await page.getByText("No courier was found for Ada.").waitFor();
    expect(await page.getByRole("searchbox").inputValue()).toBe("Ada");
  });
});

test.concurrent("a wide table scrolls in itself, with short ids, links to what they name, and filters", async () => {
  const contract = new URL("../../contracts/hotel.yaml", import.meta.url).pathname;
  await withPage(browser, { args: ["--contract", contract] }, async ({ page, target, console }) => {
    const create = async (path: string, body: object) => {
      const headers = { Authorization: `Bearer ${target.token}`, "Content-Type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const response = await fetch(`${target.url}/${path}`, init);
      expect(response.status).toBe(201);
      return String(((await response.json()) as { id: unknown }).id);
    };
    const price = { amount: 99.5, currency: "EUR" };
    const room = await create("rooms", { number: "101", kind: "suite", price });
    const guest = await create("guests", { name: "Mira", email: "mira@example.com" });
    const stay = { from: "2026-12-01", to: "2026-12-04", note: "Arrives late. ".repeat(10) };
    const booking = await create("bookings", { room_id: room, guest_id: guest, ...stay });

    await page.goto(`${console}#collection=bookings`);
    const link = page.getByRole("link", { name: `Booking ${booking}`, exact: true });
    await link.waitFor();
    await assertNoHorizontalScroll(page);
    await untilTrue(
      page,
      "(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector('.plants .scroll'))",
    );
    // Short, and copied whole.
    expect((await link.boundingBox())?.width).toBeLessThan(160);
    await page.evaluate("getSelection().selectAllChildren(document.querySelector('td.number a'))");
    expect(await page.evaluate<string>("String(getSelection())")).toBe(booking);
    expect(await link.locator("[title]").getAttribute("title")).toBe(booking);

    await page.getByRole("link", { name: room }).click();
    await page.getByRole("dialog").getByText("suite").waitFor();
    expect(page.url()).toContain("collection=rooms");
    await page.goBack();
    await link.click();
    await page.getByRole("dialog").getByRole("link", { name: guest }).click();
    await page.getByRole("dialog").getByText("mira@example.com").waitFor();
    await page.getByRole("button", { name: "Close" }).click();

    await searchFor(page, "vip:perhaps");
    await page.getByText("Write vip:true, vip:false or vip:none.").waitFor();
    await page.getByRole("button", { name: "Add a guest" }).click();
    const form = page.getByRole("dialog");
    expect(await form.getByLabel("Born").getAttribute("type")).toBe("date");
    await form.getByLabel("Vip").getByText("false (default)").waitFor({ state: "attached" });
  });
});

test.concurrent("collections of one name are told apart, and eight of them are a list", async () => {
  using folder = new TemporaryFolder();
  const seven = ["/keys", "/v2/keys", "/apps", "/cars", "/cats", "/dogs", "/firms"];
  for (const paths of [seven, [...seven, "/towns"]]) {
    const contract = folder.file(`${paths.length}.json`);
    const { paths: things, ...document } = thingsDocument({ item: { get: {} } });
    const [collection, item] = Object.values(things ?? {}) as [{ post: object }, object];
    const described = paths.flatMap((path, at) => [
      [path, { post: { ...collection.post, operationId: `create${at}` } }],
      [`${path}/{id}`, item],
    ]);
    await Bun.write(contract, JSON.stringify({ ...document, paths: Object.fromEntries(described) }));
    await withPage(browser, { args: ["--contract", contract, "--open"] }, async ({ page, console }) => {
      await page.goto(console);
      const nav = page.getByRole("navigation", { name: "Collections" });
      const isList = paths.length > 7;
      if (isList) await nav.getByRole("combobox").selectOption("Towns");
      else await nav.getByRole("link", { name: "Firms" }).click();
      await page.getByRole("heading", { name: isList ? "Towns" : "Firms" }).waitFor();
      const names = await nav.getByRole(isList ? "option" : "link").allTextContents();
      expect(names).toHaveLength(paths.length);
      expect(new Set(names).size).toBe(paths.length);
      await assertNoHorizontalScroll(page);
    });
  }
});

test.concurrent("a search that takes long shows how far it is and what it found, is stopped, and continues there", async () => {
  await withPage(browser, {}, async ({ page, target, console }) => {
    await post(target, plantJson(1n, "Hoya"));
    await page.goto(console);
    await row(page, 1n).waitFor();
    const plant = { values: ["Hoya", null], version: "x", createdAt: null, token: null };
    const asked: (string | null)[] = [];
    const third = Promise.withResolvers<void>();
    await page.route(/api\/count/, (route) =>
      route.fulfill({ json: { plants: 4_000_000, countedSoFar: null, bytes: null } }),
    );
    await page.route(/api\/plants\?word=hoya/, async (route) => {
      const after = new URL(route.request().url()).searchParams.get("after");
      asked.push(after);
      // Each request compares a million plants, and finds one; the third is held.
      if (asked.length === 3) await third.promise;
      const next = 4_000_000 - 1_000_000 * asked.length;
      await route
        .fulfill({
          json: {
            plants: [{ ...plant, id: String(next + 7) }],
            next: next > 0 ? String(next) : null,
            compared: 1e6,
          },
        })
        .catch(() => undefined);
    });
    await page.getByRole("searchbox").fill("hoya");
    await page.getByText("2,000,000 of 4,000,000 plants compared, 2 found.").waitFor();
    await row(page, 2_000_007n).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("2 plants found among 2,000,000 plants, down to the id 2000000.").waitFor();
    third.resolve();
    await page.getByRole("button", { name: "Continue the search" }).click();
    await page.getByText("3 plants found.").waitFor();
    // The one that was stopped is asked for again.
    expect(asked).toEqual([null, "3000000", "2000000", "2000000"]);
  });
});

test.concurrent("a form whose plant another operator has changed keeps that change, and shows both where both have edited", async () => {
  await withPage(browser, {}, async ({ page, server, target, console }) => {
    await post(target, plantJson(7n, "Monstera", "old"));
    const stored = async () => JSON.parse((await server.command("get", "7")).stdout);
    const dialog = page.getByRole("dialog");
    const [name, tag] = ["Name", "Tag"].map((label) => dialog.getByRole("textbox", { name: label }));
    await page.goto(`${console}#plant=7`);
    await dialog.getByRole("button", { name: "Edit" }).click();
    await name?.fill("Monstera deliciosa");
    await server.command("update", "7", "--tag", "corrected");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("has changed since you opened it. Nothing was saved.").waitFor();
    expect(await tag?.inputValue()).toBe("corrected");
    expect(await name?.inputValue()).toBe("Monstera deliciosa");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("button", { name: "Edit" }).click();
    expect(await stored()).toMatchObject({ name: "Monstera deliciosa", tag: "corrected" });

    await tag?.fill("typed");
    await server.command("update", "7", "--tag", "of another");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Meanwhile stored: of another").waitFor();
    expect(await tag?.inputValue()).toBe("typed");
    expect(await accessibilityFaults(page)).toEqual([]);
    await tag?.fill("of another");
    expect(await dialog.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
  });
});

test.concurrent("a plant is edited and deleted, and its history undoes it", async () => {
  await withPage(browser, {}, async ({ page, server, target, console }) => {
    const name = "one\r\ntwo\nthree";
    await post(target, plantJson(9007199254740993n, name, "tropical"));
    await page.goto(`${console}#plant=9007199254740993`);
    const dialog = page.getByRole("dialog");
    const stored = async () => JSON.parse((await server.command("get", "9007199254740993")).stdout);
    await dialog.getByRole("button", { name: "Edit" }).click();
    await dialog.getByRole("textbox", { name: "Tag" }).fill("typed");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("button", { name: "Edit" }).waitFor();
    // A text that was not edited keeps its line ends.
    expect(await stored()).toMatchObject({ name, tag: "typed" });

    await dialog.getByRole("button", { name: "Delete", exact: true }).press("Enter");
    await dialog.getByRole("button", { name: "Delete the plant" }).press("Enter");
    await dialog.getByText("No plant has the id 9007199254740993.").waitFor();
    await page.getByText("There are no plants yet.").waitFor();
    const history = dialog.getByRole("list", { name: "History" });
    await history
      .getByText(/by the console at 127\.0\.0\.1/)
      .first()
      .waitFor();
    expect(await history.getByRole("listitem").count()).toBe(2);
    // An edit before a later one cannot be undone.
    await history.getByRole("button", { name: "Undo" }).last().click();
    await dialog.getByText("0 edits undone, 1 plant changed since and left as they are.").waitFor();
    await history.getByRole("button", { name: "Undo" }).first().click();
    await dialog.getByText("1 edit undone.").waitFor();
    await row(page, 9007199254740993n).getByText("typed").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});

const parcelsPath = join(import.meta.dir, "../../contracts/parcels.yaml");

test.concurrent("fields of every type and name are listed, edited and sent, each with the input of its type", async () => {
  const args = ["--contract", parcelsPath];
  const stored = {
    sender: "Ada",
    fragile: true,
    weight: 1.5,
    status: "sent",
    note: null,
    items: [{ sku: "tea" }],
    __proto__: null,
    Sender: "ADA",
  };
  await withPage(browser, { args, expectedFaults: [/ 400/] }, async ({ page, server, target, console }) => {
    const body = JSON.stringify({ id: 7, ...stored }).replace("}]", '}],"__proto__":"p","constructor":""');
    const created = await fetch(`${target.url}/parcels`, {
      method: "POST",
      headers: { Authorization: `Bearer ${target.token}`, "Content-Type": "application/json" },
      body,
    });
    expect(created.status).toBe(201);
    await page.goto(console);
    const link = page.getByRole("link", { name: "Parcel 7", exact: true });
    const cells = page.getByRole("row").filter({ has: link }).getByRole("cell");
    await link.waitFor();
    const headers = await page
      .getByRole("region", { name: "List of parcels" })
      .getByRole("columnheader")
      .allTextContents();
    expect(headers.slice(1, 6)).toEqual(["Id", "sender", "Status", "Fragile", "Weight"]);
    expect((await cells.allTextContents()).slice(2, 6)).toEqual(["Ada", "sent", "true", "1.50"]);
    expect(await accessibilityFaults(page)).toEqual([]);
    await assertNoHorizontalScroll(page);
    await searchFor(page, "tea status:sent");
    await page.getByText("1 parcel found.").waitFor();

    await link.click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Edit" }).click();
    await dialog.getByLabel("Weight").fill("02.25");
    await dialog.getByLabel("Fragile").selectOption("false");
    await dialog.getByLabel("Note").fill('"null"');
    await dialog.getByLabel("Proto").fill("<b>");
    await dialog.getByLabel("Items").fill("[{]");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Items must be JSON: ").waitFor();
    await dialog.getByLabel("Items").fill('[{"sku": 1}]');
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText('"items" must be an array that the contract\'s schema accepts').waitFor();
    await dialog.getByLabel("Items").fill('[{"sku": "tea", "price": 12345678901234567890.10}]');
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("button", { name: "Edit" }).waitFor();
    const edited =
      '"sender":"Ada","fragile":false,"weight":2.25,"status":"sent","note":"null","items":[{"sku":"tea","price":12345678901234567890.10}],"__proto__":"<b>","constructor":"","Sender":"ADA"';
    expect((await server.command("get", "7")).stdout).toBe(`{"id":7,${edited}}\n`);
    await dialog.getByRole("list", { name: "History" }).getByText("weight: 1.50 → 2.25").waitFor();
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Add a parcel" }).click();
    await dialog.getByLabel("Id").fill("8");
    await dialog.getByLabel("sender", { exact: true }).fill("Eve");
    expect(await dialog.getByLabel("Fragile").getAttribute("required")).not.toBeNull();
    await dialog.getByLabel("Fragile").selectOption("true");
    await dialog.getByLabel("Count").fill("12");
    await dialog.getByLabel("Note").fill("null");
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Add parcel" }).click();
    await dialog.getByText("Parcel 8 is stored.").waitFor();
    expect((await server.command("get", "8")).stdout).toBe(
      '{"id":8,"sender":"Eve","fragile":true,"count":12,"note":null}\n',
    );
    await page.keyboard.press("Escape");

    await searchFor(page, "");
    await page.getByLabel("Select parcel 8", { exact: true }).check();
    await page.getByRole("button", { name: "Set the status" }).click();
    await dialog.getByLabel("Status").selectOption("packed");
    await dialog.getByRole("button", { name: "Change 1 parcel" }).click();
    await page.getByText("1 parcel changed, in the run").waitFor();
    await page.setViewportSize({ width: 320, height: 700 });
    await assertNoHorizontalScroll(page);
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});

test.concurrent("resources without texts have neither titles nor groups, and are listed, searched by id, and edited", async () => {
  using folder = new TemporaryFolder();
  const contract = folder.file("things.yaml");
  const properties = { value: { type: "integer", examples: [3] }, "": { type: "boolean" } };
  const document = {
    ...documentWith(properties, ["value"]),
    info: { title: "R&D", version: "1" },
    security: [{ token: [] }],
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
  };
  await Bun.write(contract, JSON.stringify(document));
  await withPage(browser, { args: ["--contract", contract] }, async ({ page, server, console }) => {
    await page.goto(console);
    expect(await page.title()).toBe("R&D console");
    await page.getByText("There are no things yet. Add one here, or send POST /things.").waitFor();
    await page.getByRole("button", { name: "Add a thing" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Id").fill("-7");
    await dialog.getByLabel("Value").fill("9007199254740993");
    await dialog.getByLabel('""').selectOption("true");
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Add thing" }).click();
    await dialog.getByText("Thing -7 is stored.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Thing -7" }).waitFor();
    await assertNoHorizontalScroll(page);
    await page.getByLabel("Select thing -7").check();
    expect(await page.getByRole("button", { name: /^Set the / }).count()).toBe(0);
    await searchFor(page, "group:x");
    await page.getByText("There is no filter group: here.").waitFor();
    expect((await server.command("get", "-7")).stdout).toBe('{"id":-7,"value":9007199254740993,"":true}\n');
  });
});

test.concurrent("plants are selected, on the page or all that a search finds, then changed and deleted in one run", async () => {
  await withPage(browser, { look: "narrow" }, async ({ page, server, console }) => {
    await storePlants(
      server.database,
      Array.from({ length: 630 }, (_, id) => ({ id: BigInt(id), name: id < 620 ? "Hoya" : "Aloe" })),
    );
    await page.goto(console);
    const bar = page.getByRole("group", { name: "Selected plants" });
    const dialog = page.getByRole("dialog");
    await row(page, 629n).waitFor();
    await page.getByLabel("Select the plants of this page").check();
    await bar.getByText("50 plants selected").waitFor();
    await bar.getByRole("button", { name: "Select none" }).click();
    await page.getByLabel("Select plant 629", { exact: true }).check();
    await page.getByLabel("Select plant 628", { exact: true }).press("Space");
    await bar.getByText("2 plants selected").waitFor();
    await bar.getByRole("button", { name: "Set the tag" }).click();
    await server.command("update", "628", "--tag", "changed elsewhere");
    await dialog.getByLabel("Tag").fill("succulent");
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Change 2 plants" }).click();
    await page
      .getByText(
        /1 plant changed, in the run .+ Changed meanwhile or too large, and left as they are: 1 plant, 628\./,
      )
      .waitFor();
    await row(page, 629n).getByText("succulent").waitFor();
    await searchFor(page, "hoya");
    await row(page, 619n).waitFor();
    await page.getByLabel("Select plant 619", { exact: true }).check();
    await bar.getByRole("button", { name: "Select all found" }).click();
    await bar.getByText("620 plants selected").waitFor();
    await bar.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete 620 plants" }).click();
    await page.getByText(/620 plants deleted, in the run/).waitFor();
    await page.getByText("No plant was found for hoya.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("620 edits undone.").waitFor();
    await row(page, 619n).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});

test.concurrent("the form adds plants by the keyboard alone, and says what is wrong", async () => {
  await withPage(browser, { expectedFaults: [/ 400/] }, async ({ page, server, console }) => {
    await page.goto(console);
    await page.getByRole("button", { name: "Add a plant" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    expect(await focusedName(page)).toBe("id");
    await page.keyboard.type("-9223372036854775809");
    await page.keyboard.press("Enter");
    await dialog.getByText("An id is a whole number from -9223372036854775808 to").waitFor();
    expect(await dialog.getByLabel("Id").getAttribute("aria-invalid")).toBe("true");
    expect(await focusedName(page)).toBe("id");
    expect(await accessibilityFaults(page)).toEqual([]);
    for (const name of ["Pilea", "Ficus"]) {
      await dialog.getByLabel("Id").fill("9223372036854775807");
      await dialog.getByLabel("Name").fill(name);
      await page.keyboard.press("Enter");
      if (name === "Ficus") break;
      await dialog.getByText("Plant 9223372036854775807 is stored.").waitFor();
      // For the next plant.
      expect([await focusedName(page), await dialog.getByLabel("Id").inputValue()]).toEqual(["id", ""]);
    }
    await dialog.getByText("already holds a different plant").waitFor();
    expect((await server.command("get", "9223372036854775807")).stdout).toBe(
      '{"id":9223372036854775807,"name":"Pilea"}\n',
    );
  });
});

test.concurrent("a file is imported by the columns of its header, and plants that differ are replaced after a dry run", async () => {
  await withPage(browser, { look: "narrow" }, async ({ page, server, target, console }) => {
    await post(target, plantJson(1_000_000n, "Hoya", "wax"));
    const csv = [
      "tag;id;name;colour",
      "wax;1000000;Hoya carnosa;green",
      ...Array.from({ length: 60_000 }, (_, index) => `wax;${index + 1_000_001};Hoya ${index};`),
      "wax;x;no number;red",
      ";2000000;\u202eevil;",
    ].join("\r\n");
    await page.goto(console);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    const dialog = page.getByRole("dialog");
    const file = { name: "plants.csv", mimeType: "text/csv", buffer: Buffer.from(csv) };
    await dialog.getByLabel("Choose a CSV or JSON file").setInputFiles(file);
    await dialog.getByLabel("Replace plants that differ").check();
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Dry run" }).click();
    await dialog
      .getByText(
        "60,001 to be created, 0 already stored, 1 to be replaced, 1 rejected; ignored columns: colour",
      )
      .waitFor();
    expect(await dialog.getByRole("list", { name: "Differences" }).textContent()).toContain(
      "Hoya wax → Hoya carnosa wax",
    );
    expect((await server.command("get", "1000000")).stdout).toContain('"name":"Hoya"');
    await dialog.getByRole("button", { name: "Import, and replace 1 plant" }).click();
    await dialog.getByText("60,001 created, 0 already stored, 1 replaced, 1 rejected").waitFor();
    const rejections = dialog.getByRole("region", { name: "Rejected records" });
    expect(await rejections.textContent()).toContain("wax;x;no number;");
    const download = page.waitForEvent("download");
    await dialog.getByRole("button", { name: "Download the rejected records" }).click();
    const report = (await Bun.file(await (await download).path()).text()).trimEnd().split("\n");
    expect(report).toEqual([
      "tag;id;name;colour;reason",
      expect.stringMatching(/^wax;x;no number;red;.*line 60003: 40002 /),
    ]);
    expect(await accessibilityFaults(page)).toEqual([]);
    await assertNoHorizontalScroll(page);
    await dialog.getByRole("button", { name: "Done" }).click();
    expect((await server.command("get", "2000000")).stdout).toBe('{"id":2000000,"name":"\u202eevil"}\n');

    await page.getByRole("button", { name: "Export", exact: true }).click();
    const exported = page.waitForEvent("download");
    await dialog.getByRole("button", { name: "Export", exact: true }).click();
    const text = await Bun.file(await (await exported).path()).text();
    expect(text).toStartWith("id,name,tag\n1000000,Hoya carnosa,wax\n");
    expect(text).toEndWith("\n2000000,\u202eevil,\n");
  });
});

test.concurrent("an issued token is shown once, and a revoked one stops working", async () => {
  await withPage(browser, {}, async ({ page, target, console }) => {
    await page.goto(console);
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
    await eventually(
      "the revoked token is rejected",
      () => post(client, plantJson(1n, "Monstera")),
      ({ status }) => status === 401,
    );
  });
});

test.concurrent("charts have a colour for each error and the values of a time, and recent requests can be errors only", async () => {
  await withPage(browser, {}, async ({ page, target, console }) => {
    await post({ ...target, token: "pst_wrong" }, plantJson(80n, "Aloe"));
    await post(target, '{"id": 81, "name": 7}');
    await page.goto(console);
    const chart = page.getByRole("img", { name: /^Errors by code per 10 s: / });
    await chart.waitFor();
    const swatches = page.getByRole("figure").filter({ has: chart }).locator(".readout i");
    // The two errors may be in two samples, and the later one is not there yet.
    await swatches.nth(1).waitFor();
    const styles = await swatches.evaluateAll((found) => found.map((swatch) => swatch.getAttribute("style")));
    expect([styles.length, new Set(styles).size]).toEqual([2, 2]);
    const values = await chart.locator("title").allTextContents();
    expect(values.join("\n")).toMatch(/^\d\d:\d\d:\d\d: 40002 \d, 40101 1$/m);

    const requests = page.getByRole("region", { name: "Recent requests" });
    await post(target, plantJson(82n, "Aloe"));
    await requests.getByText("created", { exact: true }).waitFor();
    await requests.getByLabel("Errors only").check();
    await requests.getByText("created", { exact: true }).waitFor({ state: "detached" });
    await requests.getByText("The bearer token is not accepted").first().waitFor();
    const failed = requests.getByRole("row").filter({ hasText: "40002" }).first();
    await failed.getByRole("button").click();
    await requests.getByRole("definition").filter({ hasText: "name" }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});

const hostile = [
  "<script>document.title = 'taken'</script>",
  "<img src=x onerror=\"document.title = 'taken'\">",
  "\u202egnp.exe\u202d \u2066 never closed",
  "&lt;b&gt; {{7*7}} %3Cscript%3E",
  "line one\nline two\u2028three\u0001\u007f\ufeff",
  "a\u0301".repeat(400),
];

test.concurrent("hostile names are shown as text in lists and dialogs", async () => {
  await withPage(browser, {}, async ({ page, target, console }) => {
    for (const [index, name] of hostile.entries()) await post(target, plantJson(BigInt(index), name, name));
    await post(target, plantJson(100n, "x".repeat(100_000), "y".repeat(100_000)));
    await page.goto(console);
    await row(page, 100n).waitFor();
    for (const [index, name] of hostile.entries()) {
      const shown = row(page, BigInt(index)).locator(".main bdi");
      expect(await shown.textContent()).toBe([...name].slice(0, 300).join(""));
    }
    await row(page, 100n).getByRole("link").click();
    await page.getByRole("dialog").getByText("xxx").waitFor();
    expect((await page.getByRole("dialog").locator("bdi").first().textContent())?.length).toBe(100_000);
    expect(await page.title()).toBe("Plant Store console");
    expect(await page.locator("script:not([src])").count()).toBe(0);
    await assertNoHorizontalScroll(page);
  });
});

test.concurrent("a server that is started again is live again", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await using first = await RunningServer.start({ database });
  const adminUrl = await first.adminUrl();
  await browser.visit(`${adminUrl}/console/`, { expectedFaults: [/ERR_/] }, async (page) => {
    await page.getByText("No plant was created in the last 15 minutes.").first().waitFor();
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
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Password").waitFor();
    expect(await cookies()).toEqual([]);
    expect(await page.getByText("Tokens").count()).toBe(0);
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
          "(({ ariaLabel, labels, textContent }) => ariaLabel ?? (labels?.[0]?.textContent.trim() || textContent))(document.activeElement)",
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
      "Issue a token",
      "Revoke the shop",
      "Errors only",
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
