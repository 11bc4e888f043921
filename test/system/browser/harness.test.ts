// The watch over pages, with pages that do what a page of ours must not.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { accessibilityFaults, type Page, TestBrowser } from "../../support/browser.ts";

const pages: Record<string, string> = {
  "/good": "<h1>Good</h1>",
  "/console": '<script>console.error("an error of the page")</script>',
  "/warning": '<script>console.warn("a warning of the page")</script>',
  "/throws": '<script>throw new Error("thrown by the page")</script>',
  "/rejects": '<script>Promise.reject(new Error("rejected by the page"))</script>',
  "/missing": '<img src="/nowhere.png" alt="">',
  "/image-elsewhere": '<img src="http://elsewhere.example/pixel.png" alt="">',
  "/fetch-elsewhere": '<script>fetch("https://elsewhere.example/").catch(() => {})</script>',
  "/beacon-elsewhere": '<script>navigator.sendBeacon("https://elsewhere.example/", "x")</script>',
  "/address-elsewhere": '<script>fetch("http://192.0.2.1/").catch(() => {})</script>',
  "/socket-elsewhere": `<script>
    document.title = "waiting";
    new WebSocket("wss://elsewhere.example/").onerror = () => { document.title = "settled"; };
  </script>`,
  "/policy":
    '<meta http-equiv="Content-Security-Policy" content="script-src \'none\'"><script>document.title = 1</script>',
  "/unreadable": '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
};

const resources = new AsyncDisposableStack();
let browser: TestBrowser;
let url: string;
beforeAll(async () => {
  browser = resources.use(await TestBrowser.start());
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

/** Waits for what the page has begun. A web socket is none of the requests that "networkidle" waits for. */
async function settled(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.waitForFunction('document.title !== "waiting"');
}

/** Bun's `rejects` would hold up the tests that run beside this one. */
const failureOf = (visit: Promise<void>) => visit.then(() => "nothing", String);

test("a page that does nothing wrong passes, and is seen", async () => {
  await browser.visit(`${url}/good`, {}, async (page) => {
    expect(await page.getByRole("heading").textContent()).toBe("Good");
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});

test.concurrent.each([
  ["/console", "console error: an error of the page"],
  ["/warning", "console warning: a warning of the page"],
  ["/throws", "page error: Error: thrown by the page"],
  ["/rejects", "page error: Error: rejected by the page"],
  ["/missing", "console error: Failed to load resource"],
  ["/image-elsewhere", "request for another host: http://elsewhere.example/pixel.png"],
  ["/fetch-elsewhere", "request for another host: https://elsewhere.example/"],
  ["/beacon-elsewhere", "request for another host: https://elsewhere.example/"],
  ["/address-elsewhere", "request for another host: http://192.0.2.1/"],
  ["/socket-elsewhere", "web socket for another host: wss://elsewhere.example/"],
  ["/policy", "Content Security Policy"],
])("%s fails the test that visits it", async (path, why) => {
  expect(await failureOf(browser.visit(url + path, {}, settled))).toContain(why);
});

test("what a test expects may occur, and must", async () => {
  const expectedFaults = [/an error of the page/];
  await browser.visit(`${url}/console`, { expectedFaults }, settled);
  const missed = browser.visit(`${url}/good`, { expectedFaults }, settled);
  expect(await failureOf(missed)).toContain("did not complain");
});

test("axe's serious findings are told", async () => {
  await browser.visit(`${url}/unreadable`, {}, async (page) => {
    expect(await accessibilityFaults(page)).toEqual(["image-alt: img"]);
  });
});
