// Actions on the documentation page.

import type { Locator, Page } from "./browser.ts";

/** Waits until the page shows what it describes. */
export async function shown(page: Page): Promise<void> {
  await page.getByRole("heading", { name: "Plant Store", level: 1 }).waitFor();
  await page.getByRole("heading", { name: "Errors" }).waitFor();
}

/** Scrolls down to the operation, which Scalar renders only then, and gives the button that opens "try it". */
export async function scrollToOperation(page: Page): Promise<Locator> {
  await shown(page);
  const button = page.getByRole("button", { name: "Test Request" }).first();
  while (!(await button.isVisible())) await page.evaluate("scrollBy(0, 200)");
  return button;
}

/** Sends a body with a token, and gives the text of the answer once it holds `awaited`. */
export async function tryIt(page: Page, bearer: string, body: string, awaited: string): Promise<string> {
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Bearer Token" }).fill(bearer);
  await dialog.getByRole("region", { name: "Request Body" }).getByRole("textbox").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(body);
  await dialog.getByRole("button", { name: /^Send post request/ }).click();
  const answer = dialog.getByRole("region", { name: "Response", exact: true });
  await answer.getByText(awaited).first().waitFor();
  return answer.innerText();
}
