// plantstore serve: opens the store, opens the listeners, and runs until it is told to stop.

import { Command } from "commander";
import packageJson from "../../package.json";
import { Bodies } from "../api/body.ts";
import { readCertificate } from "../api/certificate.ts";
import { ConnectionShedder } from "../api/connection-shedder.ts";
import type { PublicServer } from "../api/server.ts";
import { settingOf } from "../config/command-config.ts";
import { configurationOf, withServerSettings } from "../config/server-config.ts";
import type { Emit, ServerEvent } from "../observability/server-event.ts";
import { OperatorError } from "../operator-error.ts";
import type { PlantStore } from "../store/plant-store.ts";
import { Readiness } from "../store/readiness.ts";
import { printAddress } from "./bootstrap-token.ts";
import { openConsole, recentCreatesFor } from "./console-part.ts";
import { bodyLimitsOf, certificateFilesOf, logOf, rateLimitOf } from "./serve-options.ts";
import {
  beginTraces,
  type House,
  keepCredentials,
  now,
  openAdminListener,
  openPublicListener,
  openServedStore,
  takeCreates,
  watchCertificate,
} from "./serve-parts.ts";
import { waitForStopSignal } from "./stop-signals.ts";

export function serveCommand(): Command {
  const command = new Command("serve").description(
    "run the server; the first line on standard output is its address",
  );
  return withServerSettings(command).action(() => serve(command));
}

async function serve(command: Command): Promise<void> {
  // What needs no taking down, and tells of most mistakes.
  const bodies = new Bodies(bodyLimitsOf(command));
  const rateLimit = rateLimitOf(command, now);
  const certificateFiles = certificateFilesOf(command);
  const certificate = certificateFiles && (await readCertificate(certificateFiles));

  const log = logOf(command, now);
  const observers: Emit[] = [(event) => log.handle(event)];
  const observe = (event: ServerEvent) => {
    for (const each of observers) each(event);
  };
  // What was acknowledged is on disk.
  const endAtOnce = (why: ServerEvent) => {
    observe(why);
    void log.end().then(() => process.exit(1));
  };
  // Ahead of everything that takes time, so that a signal during the start is not lost.
  const stopSignal = waitForStopSignal(now, (signal) => endAtOnce({ kind: "forcedExit", signal }));
  let stopping = false;

  // Taken down in the opposite order, also where the start goes wrong half-way.
  await using rooms = new AsyncDisposableStack();
  rooms.defer(async () => {
    if (stopping) observe({ kind: "stopped" });
    // What its reader does not take would keep the process alive.
    if (!(await log.end())) process.exit();
  });
  const house: House = { command, rooms, observe, observers, endAtOnce };

  await beginTraces(house);
  const store = await openUnlessStopped(house, stopSignal);
  if (store === undefined) {
    observe({ kind: "shuttingDown", signal: await stopSignal });
    stopping = true;
    return;
  }
  const credentials = await keepCredentials(house, store);
  const latest = recentCreatesFor(house);
  const readiness = new Readiness(store, now);
  const groupCommit = takeCreates(house, { store, readiness, latest });
  let server: PublicServer | undefined;
  const operatorConsole = openConsole(house, {
    store,
    latest,
    create: async (headers, body) => {
      if (server === undefined) throw new OperatorError("the server is starting; try again");
      return server.create(headers, body);
    },
  });
  const connections = new ConnectionShedder();
  const admin = openAdminListener(house, {
    connections,
    store,
    readiness,
    readings: {
      queuePlants: () => groupCommit.queueLength,
      bodyBytesInFlight: () => bodies.bytesInFlight,
      connections: () => server?.connectionsOpen() ?? 0,
      storeBytes: () => store.bytesOnDisk(),
    },
    isStopping: () => stopping,
    operatorConsole,
  });
  server = openPublicListener(house, {
    certificate,
    connections,
    credentials,
    groupCommit,
    bodies,
    rateLimit,
  });

  // Logged only now, so that a start that fails says one thing: what is wrong.
  observe({ kind: "configured", version: packageJson.version, settings: configurationOf(command) });
  if (connections.shortage !== undefined) observe({ kind: "openFileLimitTooLow", ...connections.shortage });
  if (admin !== undefined) observe({ kind: "listening", listener: "admin", url: admin.url });
  observe({ kind: "listening", listener: "public", url: server.url });
  if (certificateFiles !== undefined && certificate !== undefined)
    watchCertificate(house, certificateFiles, certificate, server);

  // Made when nothing can fail any more: a token that nobody was shown would be the only one for good.
  const places = {
    url: server.url,
    documentationUrl: settingOf(command, "docs") === "on" ? `${server.url}/` : undefined,
    consoleUrl: admin === undefined || operatorConsole === undefined ? undefined : `${admin.url}/console/`,
  };
  await printAddress(store.tokens, places);
  observe({ kind: "shuttingDown", signal: await stopSignal });
  stopping = true;
}

/** Opens the store; undefined if the server was told to stop while it waited for a database that cannot be reached. */
async function openUnlessStopped(house: House, stopSignal: Promise<string>): Promise<PlantStore | undefined> {
  const opening = new AbortController();
  // Once it is open, the store goes on trying: what was accepted is still to be committed.
  let isOpen = false;
  void stopSignal.then(() => {
    if (!isOpen) opening.abort();
  });
  try {
    const store = await openServedStore(house, opening.signal);
    isOpen = true;
    return store;
  } catch (error) {
    if (opening.signal.aborted && error instanceof OperatorError) return undefined;
    throw error;
  }
}
