// The documentation playgrounds of docs/guides/test-your-api-tool.md in Chromium: the guide's pages
// on another origin than the sandbox, and what their forms for trying the operation show.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { type Page, TestBrowser } from "../../support/browser.ts";
import {
  addressesOf,
  BackgroundScript,
  copyExample,
  installOnce,
  readGuide,
  toolFolder,
} from "../../support/guide.ts";
import { reservePort } from "../../support/ports.ts";
import { chromiumPath, describeUnless, toolsMissing } from "../../support/programs.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { TemporaryFolder } from "../../support/server.ts";

const guide = await readGuide("docs/guides/test-your-api-tool.md");
const [install = "", serve = ""] = guide.block("sh", "http-server").trim().split("\n");
const bundles = toolFolder("playgrounds");

/** Why the bundles are not there; undefined if they are. */
async function missing(): Promise<string | undefined> {
  if (chromiumPath() === null) return "install chromium-headless-shell";
  return (await installOnce(install, bundles)) ? undefined : "npm cannot download the bundles";
}

describeUnless(toolsMissing ?? (await missing()), "from another origin", () => {
  const resources = new AsyncDisposableStack();
  let sandbox: RunningSandbox;
  const browser = resources.use(new TestBrowser());
  let pages: string;
  beforeAll(async () => {
    const port = reservePort();
    pages = `http://127.0.0.1:${port}`;
    sandbox = resources.use(await RunningSandbox.start());
    const folder = resources.use(new TemporaryFolder());
    symlinkSync(`${bundles}/node_modules`, folder.file("node_modules"));
    await copyExample("swagger.html", folder.path, addressesOf(sandbox));
    await copyExample("scalar.html", folder.path, addressesOf(sandbox));
    const command = serve.replace("8090", String(port));
    const server = resources.use(new BackgroundScript(command, folder.path));
    await server.listens(port);
  });
  beforeEach(() => sandbox.control("POST", "/reset"));
  afterAll(() => resources.disposeAsync());

  const unauthorized = { expectedFaults: [/status of 401/] };
  const exact = '{"id": 9007199254740993, "name": "Monstera deliciosa"}';
  const stored = [{ id: 9007199254740993n, name: "Monstera deliciosa" }];

  test("Swagger UI shows 40100 without a token, 200 with it, and sends ids as they are typed", async () => {
    await browser.visit(`${pages}/swagger.html`, unauthorized, async (page) => {
      await page.getByRole("button", { name: "POST /plants" }).first().click();
      await page.getByRole("button", { name: "Try it out" }).click();
      expect(await execute(page, "401")).toContain('"error": 40100');

      await page.getByRole("button", { name: "Authorize" }).first().click();
      await page.getByLabel("auth-bearer-value").fill(sandbox.token);
      await page.getByRole("button", { name: "Apply credentials" }).click();
      await page.getByRole("button", { name: "Close" }).click();
      await page.locator("textarea.body-param__text").fill(exact);
      const shown = await execute(page, "200");
      expect(shown).toContain('"name": "Monstera deliciosa"');
      // Headers that CORS exposes.
      expect(shown).toContain("x-request-id: ");
    });
    expect(await sandbox.plants()).toEqual(stored);
  });

  /** Sends the request of Swagger UI, and returns what it shows of a response with a status. */
  async function execute(page: Page, status: string): Promise<string> {
    await page.getByRole("button", { name: "Execute" }).click();
    await page.locator(".live-responses-table .response-col_status", { hasText: status }).waitFor();
    return page.locator(".live-responses-table").innerText();
  }

  test("Scalar shows 40101 without a token, 200 with it, and sends ids as they are typed", async () => {
    await browser.visit(`${pages}/scalar.html`, unauthorized, async (page) => {
      await page.getByRole("link", { name: "Create a plant" }).first().click();
      await page.getByRole("button", { name: "Test Request" }).click();
      const dialog = page.getByRole("dialog");
      const body = dialog.getByRole("textbox").filter({ hasText: "Monstera deliciosa" });
      await body.first().fill(exact);
      // Scalar sends "Authorization: Bearer" without a token.
      expect(await send(page, "401")).toContain('"error": 40101');

      await dialog.getByPlaceholder("Token").fill(sandbox.token);
      expect(await send(page, "200")).toContain('"name": "Monstera deliciosa"');
    });
    expect(await sandbox.plants()).toEqual(stored);
  });

  /**
   * Sends the request of Scalar, and returns the text of the dialog once it shows a response with a
   * status.
   */
  async function send(page: Page, status: string): Promise<string> {
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: /^Send/ }).first().click();
    await dialog
      .getByText(new RegExp(`${status} `))
      .first()
      .waitFor({ state: "attached" });
    return dialog.innerText();
  }
});
