// Two servers behind nginx with the site file of deploy/: they stop, start again and are lost, and
// clients see none of it.

import { expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { freshId, plantJson, post, type Target } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { type Nginx, startNginx } from "../../support/nginx.ts";
import { reservePort } from "../../support/ports.ts";
import { describeIfInstalled } from "../../support/programs.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

const clients = 24;
/** Between the creates of a client: the servers that start need the processors, too. */
const backoffMs = 5;
const testMsMax = 120_000;
const both = [0, 1] as const;
/** How each server ends, with its exit code. */
const signals = [
  ["SIGTERM", 0],
  ["SIGKILL", null],
] as const;

/** Two servers on ports that stay theirs, and nginx in front of them. */
class Site implements AsyncDisposable {
  readonly ports = [reservePort(), reservePort()] as const;
  readonly #database: string;
  readonly #stack = new AsyncDisposableStack();
  readonly #servers: RunningServer[] = [];
  #nginx: Nginx | undefined;

  private constructor(database: string) {
    this.#database = database;
  }

  static async start(database: string, changes?: Parameters<typeof startNginx>[1]): Promise<Site> {
    const site = new Site(database);
    for (const index of both) await site.startServer(index);
    site.#nginx = site.#stack.use(await startNginx(site.ports, changes));
    return site;
  }

  get nginx(): Nginx {
    if (this.#nginx === undefined) throw new Error("nginx was not started");
    return this.#nginx;
  }

  server(index: 0 | 1): RunningServer {
    const server = this.#servers[index];
    if (server === undefined) throw new Error(`Server ${index} was not started`);
    return server;
  }

  async startServer(index: 0 | 1): Promise<void> {
    const args = ["--port", String(this.ports[index])];
    this.#servers[index] = this.#stack.use(await RunningServer.start({ database: this.#database, args }));
  }

  async target(): Promise<Target> {
    return { url: this.nginx.url, ca: this.nginx.ca, token: await this.server(0).createToken() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
  }
}

function siteSuite(): void {
  for (const engine of engines) {
    test(
      `${engine.name}: servers that end by SIGTERM or SIGKILL and start again, one after the other, cost no request`,
      async () => {
        await using place = await engine.createTestStore();
        await using site = await Site.start(place.database);
        const load = new Load();
        const running = load.untilStopped([await site.target()], clients, backoffMs);
        for (const [signal, exitCode] of signals) {
          for (const index of both) {
            await load.acknowledgedMore(200);
            expect((await site.server(index).stop(signal)).exitCode).toBe(exitCode);
            await load.acknowledgedMore(200);
            await site.startServer(index);
          }
        }
        load.stop();
        await running;
        expect(load.unanswered).toEqual([]);
        expect([...load.statuses.keys()]).toEqual([200]);
        expect(load.audit((await site.server(0).command("export")).stdout)).toEqual([]);

        // Connections were kept, and requests of a server that was gone were passed on.
        const requests = await site.nginx.log();
        expect(requests.length).toBeGreaterThanOrEqual(load.acknowledged.size);
        expect(new Set(requests.map(({ connection }) => connection)).size).toBeLessThan(requests.length / 20);
        expect(requests.filter(({ asked }) => asked.includes(",")).length).toBeGreaterThan(signals.length);
      },
      testMsMax,
    );
  }

  test(
    "a server that hangs costs no request",
    async () => {
      using folder = new TemporaryFolder();
      const waits = [["proxy_read_timeout 20s;", "proxy_read_timeout 1s;"]] as const;
      await using site = await Site.start(`sqlite:${folder.file("plants.db")}`, waits);
      const target = await site.target();
      process.kill(site.server(0).pid, "SIGSTOP");
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => post(target, plantJson(freshId(), "Monstera"))),
      );
      process.kill(site.server(0).pid, "SIGCONT");
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      expect((await site.nginx.log()).filter(({ asked }) => asked.includes(",")).length).toBeGreaterThan(0);
    },
    testMsMax,
  );

  test(
    "while there is no server the answer is 50300, and it is 200 again by itself",
    async () => {
      using folder = new TemporaryFolder();
      await using site = await Site.start(`sqlite:${folder.file("plants.db")}`);
      const target = await site.target();
      expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
      await Promise.all(both.map((index) => site.server(index).stop()));
      const refused = await post(target, plantJson(2n, "Monstera"));
      expect(refused).toMatchObject({
        status: 503,
        json: { error: 50300, message: "No server can be reached; retrying in 1 second is safe." },
      });
      await site.startServer(1);
      expect((await post(target, plantJson(2n, "Monstera"))).status).toBe(200);
    },
    testMsMax,
  );
}

describeIfInstalled(
  "nginx",
  "behind nginx",
  () => describeIfInstalled("openssl", "with TLS", siteSuite),
  "nginx-light",
);
