// A sandbox: a server on a store in memory that can be reset, read back, and told how to respond.

import { TrustedProxies } from "../console/client-address.ts";
import type { Sessions } from "../console/sessions.ts";
import type { HandlerDependencies, PublicHandler } from "../core/http/handler.ts";
import type { PublicServer, startPublicListener } from "../core/http/listener.ts";
import type { Emit } from "../core/observability/server-event.ts";
import type { OnUnavailable } from "../core/store/plant-store.ts";
import { MemoryStore, type PlantsCopy } from "../core/store/sqlite/memory-store.ts";
import { passwordCheck } from "./access.ts";
import { SandboxClock } from "./clock.ts";
import { Control, type ControlRoute, respondControl, respondDone, type SandboxPart } from "./control.ts";
import { ForcedOutcomes } from "./forced-outcomes.ts";
import { plantsPart } from "./plants.ts";
import { startRecordedListener } from "./recorded-listener.ts";
import { RequestLog } from "./request-log.ts";
import { requestsPart } from "./requests.ts";
import { Rules } from "./rules.ts";
import { rulesPart } from "./rules-control.ts";
import { loadSeeds } from "./seeds.ts";
import { storeFixedToken, tokensPart } from "./tokens.ts";

export interface SandboxOptions {
  /** The fixed token. */
  readonly token: string;
  /** A file of plants; undefined for none. */
  readonly seed: string | undefined;
  /** Host names of the admin listener, beside addresses and localhost. */
  readonly adminNames: readonly string[];
  /** Proxies in front of the admin listener, see TrustedProxies. */
  readonly trustedProxies: readonly string[];
}

/** The parts of the server that a sandbox builds on. */
export interface SandboxServer {
  readonly handler: PublicHandler;
  /** Of the handler. */
  readonly handlerDependencies: HandlerDependencies;
  readonly sessions: Sessions;
  readonly reloadTokens: () => Promise<void>;
  readonly forgetPlants: () => void;
  readonly emit: Emit;
}

/** What a sandbox adds to the server. */
export interface SandboxExtension {
  readonly handler: PublicHandler;
  readonly adminRoutes: Control;
  readonly startPublicListener: (...args: Parameters<typeof startPublicListener>) => PublicServer;
}

export class Sandbox {
  readonly clock = new SandboxClock(Date.now);
  readonly #options: SandboxOptions;
  #opened: { readonly store: MemoryStore; readonly seeds: PlantsCopy } | undefined;
  /** The base URL; empty until the public listener is open. */
  #url = "";
  #origin: string | undefined;

  constructor(options: SandboxOptions) {
    this.#options = options;
  }

  /** The store with its seeds and the fixed token. Rejects with an OperatorError if a seed is invalid. */
  async openStore(onUnavailable: OnUnavailable): Promise<MemoryStore> {
    const { seed, token } = this.#options;
    const store = new MemoryStore(onUnavailable);
    if (seed !== undefined) await loadSeeds(seed, store);
    await storeFixedToken({ store, clock: this.clock, token });
    this.#opened = { store, seeds: store.copyPlants() };
    return store;
  }

  /** Call it once, when the store is open. */
  extend(server: SandboxServer): SandboxExtension {
    const { handlerDependencies, sessions, reloadTokens, forgetPlants, emit } = server;
    if (this.#opened === undefined) throw new Error("The sandbox was extended before its store was open");
    const { store, seeds } = this.#opened;
    const { token, adminNames, trustedProxies } = this.#options;
    const log = new RequestLog();
    const rules = new Rules();
    const handler = new ForcedOutcomes({
      ...{ handler: server.handler, server: handlerDependencies, rules },
      origin: () => this.#origin,
    });
    const parts: SandboxPart[] = [
      plantsPart(store, forgetPlants),
      tokensPart({ store, clock: this.clock, token, reloadTokens }),
      requestsPart(log),
      rulesPart(rules),
    ];
    const reset = async () => {
      store.replacePlants(seeds);
      forgetPlants();
      await Promise.all(parts.map((part) => part.reset?.()));
      return respondDone();
    };
    const describe = () =>
      respondControl(
        Object.assign(
          { url: this.#url, plantsUrl: `${this.#url}/plants` },
          ...parts.map((part) => part.describe?.()),
        ),
      );
    const routes: ControlRoute[] = [
      { method: "GET", path: "", handle: describe },
      { method: "POST", path: "/reset", handle: reset },
      ...parts.flatMap((part) => part.routes),
    ];
    return {
      handler,
      adminRoutes: new Control(routes, {
        names: adminNames,
        authenticate: passwordCheck(sessions, new TrustedProxies(trustedProxies)),
        onInternalError: (error) => emit({ kind: "internalError", requestId: "sandbox", error }),
      }),
      startPublicListener: (listened, options) => {
        const listener = startRecordedListener(listened, options, {
          log,
          mark: (head) => handler.mark(head),
        });
        this.#url = listener.url;
        this.#origin = listener.origin;
        return listener;
      },
    };
  }
}
