// The browser support reports what a page must not do: errors, failed requests, requests to other
// hosts.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { accessibilityFaults, type Page, TestBrowser } from "../../support/browser.ts";

const pages: Record<string, string> = {
  "/good": "<h1>Good</h1>",
  "/console": '<script>console.error("an error of the page")</script>',
  "/throws": '<script>throw new Error("thrown by the page")</script>',
  "/image-elsewhere": '<img src="http://elsewhere.example/pixel.png" alt="">',
  "/socket-elsewhere": `<script>
    document.title = "waiting";
    new WebSocket("wss://elsewhere.example/").onerror = () => { document.title = "settled"; };
  </script>`,
  "/unreadable": '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
};

const resources = new AsyncDisposableStack();
const browser = resources.use(new TestBrowser());
let url: string;
beforeAll(async () => {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const page = pages[new URL(request.url).pathname];
      const head = '<!doctype html><html lang="en"><title>A page</title><link rel="icon" href="data:,">';
      const headers = { "Content-Type": "text/html" };
      return page === undefined
        ? new Response(null, { status: 404 })
        : new Response(`${head}<main>${page}</main>`, { headers });
    },
  });
  resources.defer(() => server.stop(true));
  url = server.url.origin;
});
afterAll(() => resources.disposeAsync());

/** Waits for the page's requests, and for its web socket, which "networkidle" does not wait for. */
async function settled(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.waitForFunction('document.title !== "waiting"');
}

/** Bun's `rejects` would block concurrent tests. */
const getFailure = (visit: Promise<void>) => visit.then(() => "nothing", String);

test.concurrent.each([
  ["/console", "console error: an error of the page"],
  ["/throws", "page error: Error: thrown by the page"],
  ["/image-elsewhere", "request for another host: http://elsewhere.example/pixel.png"],
  ["/socket-elsewhere", "web socket for another host: wss://elsewhere.example/"],
])("%s fails the test that visits it", async (path, why) => {
  expect(await getFailure(browser.visit(url + path, {}, settled))).toContain(why);
});

test("an expected error may occur, and must", async () => {
  const expectedFaults = [/an error of the page/];
  await browser.visit(`${url}/console`, { expectedFaults }, settled);
  const missed = browser.visit(`${url}/good`, { expectedFaults }, settled);
  expect(await getFailure(missed)).toContain("did not complain");
});

test("serious accessibility violations are reported", async () => {
  await browser.visit(`${url}/unreadable`, {}, async (page) => {
    expect(await accessibilityFaults(page)).toEqual(["image-alt: img"]);
  });
});
