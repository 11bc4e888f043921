// The components of the operator console of a running server.

import packageJson from "../../package.json";
import { TrustedProxies } from "../admin/client-address.ts";
import { Indexes } from "../admin/console/indexes.ts";
import { Inventory } from "../admin/console/inventory.ts";
import { OperatorConsole } from "../admin/console/operator-console.ts";
import { Plants, type PlantsDependencies } from "../admin/console/plants.ts";
import { Sessions } from "../admin/console/sessions.ts";
import { Tokens } from "../admin/console/tokens.ts";
import { randomBytes } from "../auth/token.ts";
import type { ServeConfig } from "../config/resolve.ts";
import { RecentSamples } from "../observability/recent-samples.ts";
import type { Clock, Emit } from "../observability/server-event.ts";
import type { PlantReader } from "../store/plant-reader.ts";
import type { PlantStore } from "../store/plant-store.ts";
import type { RecentCreates } from "../store/recent-creates.ts";

export interface ConsoleResources {
  readonly store: PlantStore;
  readonly recentCreates: RecentCreates;
  readonly resources: AsyncDisposableStack;
  readonly emit: Emit;
  /** The handlers of events; the console's charts are added. */
  readonly subscribers: Emit[];
  readonly now: Clock;
  readonly create: PlantsDependencies["create"];
}

export function createConsole(
  { adminNames, trustedProxies, adminPasswordHash, bodyBytesMax }: ServeConfig,
  { store, recentCreates, resources, emit, subscribers, now, create }: ConsoleResources,
): OperatorConsole {
  const history = new RecentSamples(now());
  subscribers.push((event) => history.handle(event));

  // Opened at once: on SQLite it is a thread, and Bun ends the process if a thread starts when no descriptor is free.
  let opening: Promise<PlantReader> | undefined;
  const reader = () => {
    opening ??= store.openReader().catch((error) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  // The call that needs it opens it again, and gets the reason.
  reader().catch(() => undefined);
  resources.defer(async () => (await opening?.catch(() => undefined))?.close());

  const inventory = new Inventory({
    ...{ reader, recentCreates, now },
    bytesOnDisk: () => store.bytesOnDisk(),
    wallNow: Date.now,
  });
  const onEdited: PlantsDependencies["onEdited"] = ({ id, replacement }, client) => {
    if (replacement === undefined) inventory.addDeleted();
    emit({
      kind: "plantEdited",
      change: replacement === undefined ? "deleted" : "updated",
      id,
      by: "console",
      client,
    });
  };

  return new OperatorConsole({
    names: adminNames ?? [],
    trustedProxies: new TrustedProxies(trustedProxies ?? []),
    sessions: new Sessions({ passwordHash: adminPasswordHash, now, randomBytes }),
    plants: new Plants({
      reader,
      recentCreates,
      create,
      edit: (edit) => store.edit(edit),
      onEdited,
      bodyBytesMax,
    }),
    inventory,
    tokens: new Tokens(store.tokens, Date.now),
    indexes: new Indexes(store.indexes, reader),
    history,
    now,
    about: { version: packageJson.version, engine: store.engine, run: crypto.randomUUID() },
    onInternalError: (error) => emit({ kind: "internalError", requestId: "console", error }),
  });
}
