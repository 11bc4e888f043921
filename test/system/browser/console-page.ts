// Actions on the console's page.

import type { Locator, Page } from "../../support/browser.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

interface OpenedConsole {
  readonly folder: TemporaryFolder;
  readonly server: RunningServer;
  readonly target: { url: string; token: string };
  /** The address of the console. */
  readonly console: string;
}

/** Starts a server for one test, with a token, in the test's own process unless told otherwise. */
export async function withServer(
  args: readonly string[],
  work: (opened: OpenedConsole) => Promise<void>,
  start: typeof RunningServer.start = RunningServer.startInProcess,
): Promise<void> {
  using folder = new TemporaryFolder();
  await using server = await start({ database: `sqlite:${folder.file("plants.db")}`, args });
  const target = { url: server.url, token: await server.createToken("the shop") };
  await work({ folder, server, target, console: `${await server.adminUrl()}/console/` });
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

/**
 * Revokes the first token, and waits until the page lists it among those that are expired or
 * revoked.
 */
export async function revokeToken(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: `Revoke ${name}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByRole("button", { name: /Show \d expired or revoked/ }).waitFor();
}
