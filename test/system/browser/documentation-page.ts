// Actions on the documentation page.

import type { Page } from "../../support/browser.ts";

/** Waits until the page can send the request. */
export async function shown(page: Page): Promise<void> {
  await page.getByRole("heading", { name: "Plant Store", level: 1 }).waitFor();
  // By the script.
  await page.getByRole("button", { name: "Copy" }).first().waitFor();
}

/** Sends a body with a token, and gives the text of the response once it holds `awaited`. */
export async function tryIt(page: Page, bearer: string, body: string, awaited: string): Promise<string> {
  await page.getByLabel("Bearer token").fill(bearer);
  await page.getByLabel("Body").fill(body);
  await page.getByRole("button", { name: "Send request" }).click();
  const response = page.getByRole("region", { name: "Response", exact: true });
  await response.getByText(awaited).first().waitFor();
  return response.innerText();
}
