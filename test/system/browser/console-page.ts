// Actions on the console's page.

import type { Locator, Page } from "../../support/browser.ts";

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
