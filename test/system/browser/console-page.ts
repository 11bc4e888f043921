// Actions on the console's page.

import { type Locator, type Page, type TestBrowser, untilTrue, type Visit } from "../../support/browser.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

interface OpenedConsole {
  readonly folder: TemporaryFolder;
  readonly server: RunningServer;
  readonly target: { url: string; token: string };
  /** The address of the console. */
  readonly console: string;
}

interface ConsoleOptions extends Visit {
  readonly args?: readonly string[];
  /** In the test's own process unless told otherwise. */
  readonly start?: typeof RunningServer.start;
}

/** Starts a server for one test, with a token. */
export async function withServer(
  { args = [], start = RunningServer.startInProcess }: ConsoleOptions,
  work: (opened: OpenedConsole) => Promise<void>,
): Promise<void> {
  using folder = new TemporaryFolder();
  await using server = await start({ database: `sqlite:${folder.file("plants.db")}`, args });
  const target = { url: server.url, token: await server.createToken("the shop") };
  await work({ folder, server, target, console: `${await server.adminUrl()}/console/` });
}

/**
 * Starts a server for one test, and opens an empty page, from which the test goes to the console.
 */
export function withPage(
  browser: TestBrowser,
  options: ConsoleOptions,
  work: (opened: OpenedConsole & { readonly page: Page }) => Promise<void>,
): Promise<void> {
  return withServer(options, (opened) =>
    browser.visit("about:blank", options, (page) => work({ ...opened, page })),
  );
}

/** The row of a plant in the list. */
export function row(page: Page, id: bigint): Locator {
  const plant = page.getByRole("link", { name: `Plant ${id}`, exact: true });
  return page.getByRole("row").filter({ has: plant });
}

/** Searches as an operator types it, such as `mons tag:tropical`. */
export async function searchFor(page: Page, query: string): Promise<void> {
  await page.getByRole("searchbox").fill(query);
  await page.keyboard.press("Enter");
}

/** Waits until no element is wider than the page: charts follow its width in the next frame. */
export async function assertNoHorizontalScroll(page: Page): Promise<void> {
  await untilTrue(page, "document.documentElement.scrollWidth <= innerWidth");
}
