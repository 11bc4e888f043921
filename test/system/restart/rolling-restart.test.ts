// Two servers behind nginx with the site file of deploy/: they stop, start again and are lost, and
// clients see none of it.

import { expect, test } from "bun:test";
import { engines } from "../../support/engines.ts";
import { plantJson, post, type Target } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { startNginx } from "../../support/nginx.ts";
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
  ["SIGKILL", 128 + 9],
] as const;

/** Starts two servers on ports that stay theirs, and nginx in front of them. */
async function startSite(database: string) {
  const stack = new AsyncDisposableStack();
  const ports = [reservePort(), reservePort()] as const;
  const startServer = async (index: 0 | 1) => {
    const args = ["--port", String(ports[index])];
    return stack.use(await RunningServer.start({ database, args }));
  };
  const servers: [RunningServer, RunningServer] = [await startServer(0), await startServer(1)];
  const nginx = stack.use(await startNginx(ports));
  return {
    nginx,
    servers,
    async restartServer(index: 0 | 1): Promise<void> {
      servers[index] = await startServer(index);
    },
    target: async (): Promise<Target> => ({
      url: nginx.url,
      ca: nginx.ca,
      token: await servers[0].createToken(),
    }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function siteSuite(): void {
  for (const engine of engines) {
    test(
      `${engine.name}: servers that end by SIGTERM or SIGKILL and start again, one after the other, cost no request`,
      async () => {
        await using place = await engine.createTestStore();
        await using site = await startSite(place.database);
        const load = new Load();
        load.start([await site.target()], clients, backoffMs);
        for (const [signal, exitCode] of signals) {
          for (const index of both) {
            await load.acknowledgedMore(200);
            expect((await site.servers[index].stop(signal)).exitCode).toBe(exitCode);
            await load.acknowledgedMore(200);
            await site.restartServer(index);
          }
        }
        await load.stop();
        expect(load.unanswered).toEqual([]);
        expect([...load.statuses.keys()]).toEqual([200]);
        expect(load.audit((await site.servers[0].command("export")).stdout)).toEqual([]);

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
    "while there is no server the answer is 50300, and it is 200 again by itself",
    async () => {
      using folder = new TemporaryFolder();
      await using site = await startSite(`sqlite:${folder.file("plants.db")}`);
      const target = await site.target();
      expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
      await Promise.all(both.map((index) => site.servers[index].stop()));
      const refused = await post(target, plantJson(2n, "Monstera"));
      expect(refused).toMatchObject({
        status: 503,
        json: { error: 50300, message: "No server can be reached; retrying in 1 second is safe." },
      });
      await site.restartServer(1);
      expect((await post(target, plantJson(2n, "Monstera"))).status).toBe(200);
    },
    testMsMax,
  );
}

describeIfInstalled("nginx", "behind nginx", () => describeIfInstalled("openssl", "with TLS", siteSuite));
