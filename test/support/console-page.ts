// Actions on the console's page.

import type { Locator, Page } from "./browser.ts";

/** The row of a plant in the list. */
export function row(page: Page, id: bigint): Locator {
  const plant = page.getByRole("button", { name: `Plant ${id}`, exact: true });
  return page.getByRole("row").filter({ has: plant });
}

/** @param by as the page names it. */
export async function searchBy(page: Page, by: string, text: string): Promise<void> {
  await page.getByLabel("Search by").selectOption({ label: by });
  await page.getByRole("searchbox").fill(text);
  await page.getByRole("button", { name: "Search", exact: true }).click();
}

/** Revokes the first token, and waits until the page lists it among those that are expired or revoked. */
export async function revokeToken(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: `Revoke ${name}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByRole("button", { name: /Show \d expired or revoked/ }).waitFor();
}
