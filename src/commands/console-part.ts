// The console of a running server, with its settings.

import packageJson from "../../package.json";
import { TrustedProxies } from "../admin/client-address.ts";
import { Indexes } from "../admin/console/indexes.ts";
import { OperatorConsole } from "../admin/console/operator-console.ts";
import { Plants, type PlantsDependencies } from "../admin/console/plants.ts";
import { Sessions } from "../admin/console/sessions.ts";
import { Tokens } from "../admin/console/tokens.ts";
import { randomBytes } from "../auth/token.ts";
import { settingOf } from "../config/command-config.ts";
import { RecentSamples } from "../observability/recent-samples.ts";
import type { PlantReader } from "../store/plant-reader.ts";
import type { PlantStore } from "../store/plant-store.ts";
import { RecentCreates } from "../store/recent-creates.ts";
import { type House, now } from "./serve-parts.ts";

/** Some pages of the console. */
const latestIdsMax = 1_000;

/** What is remembered for the console; nothing where it is off, or nobody can reach it. */
export function recentCreatesFor({ command }: House): RecentCreates | undefined {
  const isOff = settingOf(command, "console") === "off" || settingOf(command, "adminPort") === "off";
  return isOff ? undefined : new RecentCreates(latestIdsMax);
}

export function openConsole(
  { command, rooms, observe, observers }: House,
  parts: { store: PlantStore; latest: RecentCreates | undefined; create: PlantsDependencies["create"] },
): OperatorConsole | undefined {
  const { store, latest, create } = parts;
  if (latest === undefined) return undefined;
  const history = new RecentSamples(now());
  observers.push((event) => history.handle(event));

  // Opened when somebody looks: on SQLite it is a thread.
  let opening: Promise<PlantReader> | undefined;
  const reader = () => {
    opening ??= store.openReader().catch((error) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  rooms.defer(async () => (await opening)?.close());

  return new OperatorConsole({
    names: settingOf(command, "adminNames") ?? [],
    trustedProxies: new TrustedProxies(settingOf(command, "trustedProxies") ?? []),
    sessions: new Sessions({ passwordHash: settingOf(command, "adminPasswordHash"), now, randomBytes }),
    plants: new Plants({ reader, latest, create }),
    tokens: new Tokens(store.tokens, Date.now),
    indexes: new Indexes(store.indexes, reader),
    history,
    now,
    about: { version: packageJson.version, engine: store.engine, run: crypto.randomUUID() },
    observeFault: (error) => observe({ kind: "internalError", requestId: "console", error }),
  });
}
