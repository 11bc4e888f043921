// Chromium: pages whose errors and requests are recorded while a test uses them.

import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, type BrowserContext, chromium, type Page, type Request } from "playwright-core";
import { eventually } from "./eventually.ts";
import { chromiumPath } from "./programs.ts";

export type { Locator, Page } from "playwright-core";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  // Its process would take a second of processor time to start.
  "--in-process-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Neither pages nor the browser itself can reach another host.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** The theme and width of a page. */
interface Look {
  readonly colorScheme: "light" | "dark";
  readonly width: number;
}

const looks = {
  light: { colorScheme: "light", width: 1280 },
  dark: { colorScheme: "dark", width: 1280 },
  narrow: { colorScheme: "light", width: 390 },
} as const satisfies Record<string, Look>;

export interface Visit {
  readonly look?: keyof typeof looks;
  /** Expected complaints of the page: each must occur, and no other may. */
  readonly expectedFaults?: readonly RegExp[];
}

/** Time limit of waits on a page: the machine may be busy with other tests. */
const patienceMs = 120_000;

/** The pages whose test failed. */
const pictures = new URL("../../artefacts/browser/", import.meta.url).pathname;

/** Chromium, which starts with the first visit. */
export class TestBrowser {
  #launching: Promise<Browser> | undefined;

  #launch(): Promise<Browser> {
    const executablePath = chromiumPath();
    if (executablePath === null)
      throw new Error(
        "There is no Chromium: install chromium-headless-shell or chromium, or set CHROMIUM_PATH",
      );
    return chromium.launch({ executablePath, headless: true, args: flags });
  }

  /**
   * Opens a page in a new profile, and lets a test work with it. Rejects if the test does,
   * if the page complained on the console or threw, if a request failed, or if one was for another
   * host than 127.0.0.1.
   */
  async visit(url: string, visit: Visit, work: (page: Page) => Promise<void>): Promise<void> {
    const { colorScheme, width } = looks[visit.look ?? "light"];
    this.#launching ??= this.#launch();
    await using context = await (await this.#launching).newContext({
      colorScheme,
      viewport: { width, height: 900 },
      serviceWorkers: "block",
    });
    context.setDefaultTimeout(patienceMs);
    const faults = watch(context);
    const page = await context.newPage();
    try {
      await page.goto(url);
      await work(page);
    } catch (error) {
      await page.screenshot({ path: `${pictures}failed-${crypto.randomUUID()}.png` });
      throw new Error(`${error}\nThe page complained of: ${faults.join("; ") || "nothing"}`, {
        cause: error,
      });
    }
    assertFaults(faults, visit.expectedFaults ?? []);
  }

  /** Visits a page in every look: light, dark and narrow. */
  async visitInEveryLook(url: string, work: (page: Page) => Promise<void>): Promise<void> {
    for (const look of Object.keys(looks) as (keyof typeof looks)[]) await this.visit(url, { look }, work);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#launching)?.close();
  }
}

/**
 * Waits until an expression is true in a page. Page.waitForFunction would evaluate it in the page,
 * whose content security policy forbids that.
 */
export async function untilTrue(page: Page, expression: string): Promise<void> {
  await eventually(expression, () => page.evaluate<boolean>(expression));
}

/** The problems that axe finds serious or worse: the rule, and the elements that break it. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // Leaves out frames of other sites: that takes half of the time on a large page.
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ["violations"] });
  const { violations } = await axe.analyze();
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}

/** Everything that goes wrong on the pages of a context, as it does. */
function watch(context: BrowserContext): string[] {
  const faults: string[] = [];
  const assertHere = (what: string, url: string) => {
    const { protocol, hostname } = new URL(url);
    const staysInside = protocol === "data:" || protocol === "blob:" || hostname === "127.0.0.1";
    if (!staysInside) faults.push(`${what} for another host: ${url}`);
  };
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      faults.push(`console ${message.type()}: ${message.text()} (${message.location().url})`);
  });
  context.on("weberror", (error) => faults.push(`page error: ${error.error()}`));
  context.on("request", (request) => assertHere("request", request.url()));
  context.on("requestfailed", (request) => {
    // Requests that the page aborts itself are no faults.
    if (request.failure()?.errorText !== "net::ERR_ABORTED")
      faults.push(`request failed: ${failureOf(request)}`);
  });
  context.on("page", (page) => page.on("websocket", (socket) => assertHere("web socket", socket.url())));
  return faults;
}

function failureOf(request: Request): string {
  return `${request.method()} ${request.url()}, ${request.failure()?.errorText}`;
}

function assertFaults(faults: readonly string[], expected: readonly RegExp[]): void {
  const unexpected = faults.filter((fault) => !expected.some((pattern) => pattern.test(fault)));
  if (unexpected.length > 0) throw new Error(`The page complained of: ${unexpected.join("; ")}`);
  const missing = expected.filter((pattern) => !faults.some((fault) => pattern.test(fault)));
  if (missing.length > 0) throw new Error(`The page did not complain of ${missing.join(", ")}`);
}
