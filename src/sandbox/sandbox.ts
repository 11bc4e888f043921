// Composes a sandbox: a server on a store in memory that can be reset, read back, and told how to
// respond.

import type { RuleList } from "../../packages/sandbox/src/control-types.ts";
import { TrustedProxies } from "../admin-pages/client-address.ts";
import { anonymous, creatorName } from "../auth/caller.ts";
import type { Sessions } from "../console/session/sessions.ts";
import { type ContractSource, openOperations } from "../contract/contract.ts";
import type { CorsOrigins } from "../http/cors.ts";
import type { Handler } from "../http/handler.ts";
import type { Operation } from "../http/operation.ts";
import { compiler } from "../openapi/compiler.ts";
import type { OnUnavailable } from "../store/plant-store.ts";
import { passwordCheck } from "./access.ts";
import { Control, respondControl, respondDone, type SandboxPart } from "./control.ts";
import { controlName } from "./control-document.ts";
import { plantsPart } from "./control-plants.ts";
import { requestsPart } from "./control-requests.ts";
import { loadRules, rulesPart } from "./control-rules.ts";
import { SandboxClock, storeFixedToken, tokensPart } from "./control-tokens.ts";
import { ForcedOutcomes, type ForcedOutcomesOptions } from "./forced-outcomes.ts";
import { MemoryStore } from "./memory-store.ts";
import { RequestGate } from "./request-gate.ts";
import { RequestLog } from "./request-log.ts";
import { RequestRoutes } from "./request-routes.ts";
import { Rules } from "./rules.ts";
import { SandboxListener, type SandboxListenerOptions } from "./sandbox-listener.ts";
import { loadSeeds } from "./seeds.ts";

export interface SandboxOptions {
  /** Undefined for the Plant Store's. */
  readonly contract: ContractSource | undefined;
  readonly token: string;
  /**
   * A file of plants, a folder with a file for each collection, or "examples" for those of the
   * contract; undefined for none.
   */
  readonly seed: string | undefined;
  /** A file of rules; undefined for none. */
  readonly rules: string | undefined;
  /** Host names of the admin listener, in addition to addresses and localhost. */
  readonly adminNames: readonly string[];
  /** The web origins whose pages may use the interface. */
  readonly cors: CorsOrigins;
  /** Proxies in front of the admin listener, see TrustedProxies. */
  readonly trustedProxies: readonly string[];
}

/** The parts of the server and of the console that a sandbox builds on. */
export interface SandboxServer {
  readonly sessions: Sessions;
  readonly reloadTokens: () => Promise<void>;
  readonly resetRates: () => void;
  /** Ends an import of the console. */
  readonly stopImport: () => Promise<void>;
}

export class Sandbox {
  readonly store: MemoryStore;
  readonly clock: SandboxClock;
  /** Sentences about parts of the contract that are not served or checked, or are no seeds. */
  readonly notes: readonly string[];
  readonly #options: SandboxOptions;
  /** The seeds and the fixed token. */
  readonly #start: Uint8Array;
  readonly #log = new RequestLog();
  readonly #rules: Rules;
  readonly #rulesAtStart: RuleList;
  readonly #gate = new RequestGate();
  /** Undefined before the public port is open. */
  #listener: SandboxListener | undefined;
  /** Undefined before the handler is made. */
  #routes: RequestRoutes | undefined;
  #url = "";

  private constructor(
    options: SandboxOptions,
    store: MemoryStore,
    clock: SandboxClock,
    { rules, notes }: { readonly rules: RuleList; readonly notes: readonly string[] },
  ) {
    this.#options = options;
    this.#rules = new Rules(store.contract);
    this.#rulesAtStart = rules;
    this.notes = notes;
    this.store = store;
    this.clock = clock;
    this.#start = store.copy();
  }

  /** Opens the store with its seeds and the token. Rejects with an OperatorError for a bad file. */
  static async open(options: SandboxOptions, onUnavailable: OnUnavailable): Promise<Sandbox> {
    const { seed, rules, token } = options;
    const contract = await compiler(options.contract, { isLenient: true });
    const [store, clock] = [new MemoryStore(contract, onUnavailable), new SandboxClock()];
    const notes = seed === undefined ? [] : await loadSeeds(seed, store);
    await storeFixedToken(store, token);
    // A reset must not forget it: its key is remembered.
    if (openOperations(contract).length > 0) await store.tokens.creatorKey(creatorName(anonymous));
    return new Sandbox(options, store, clock, {
      rules: rules === undefined ? { rules: [] } : await loadRules(contract, rules),
      notes: [...contract.notes, ...notes],
    });
  }

  /**
   * Puts the handler of the sandbox before that of the server. Requests that came in by another way
   * than the public port, such as from the console, are not logged, and get no forced outcomes.
   */
  wrapHandler(
    next: Handler,
    {
      operations,
      ...options
    }: Omit<ForcedOutcomesOptions, "contract" | "routes" | "next" | "rules" | "gate"> & {
      /** The operations besides the creates. */
      readonly operations: readonly Operation[];
    },
  ): Handler {
    const gate = this.#gate;
    const { contract } = this.store;
    const routes = new RequestRoutes(contract, operations, options.basePath);
    this.#routes = routes;
    const outcomes = new ForcedOutcomes({
      ...options,
      contract,
      routes,
      next,
      rules: this.#rules,
      gate,
    });
    return (request, context) => {
      const received = this.#listener?.find(request);
      if (received === undefined) return gate.handle(() => next(request, context));
      const own = { ...context, origin: this.#listener?.origin ?? context.origin };
      return gate.handle(() =>
        // Nobody waits for it, and a reset must not.
        received.isClosed
          ? Promise.resolve(new Response(null, { status: 503 }))
          : outcomes.handle(request, own, received),
      );
    };
  }

  /** The routes of control. */
  control(server: SandboxServer): Control {
    const { sessions, reloadTokens, resetRates, stopImport } = server;
    const { store, clock } = this;
    const { token, adminNames, cors, trustedProxies } = this.#options;
    const parts: SandboxPart[] = [
      plantsPart(store),
      tokensPart({ store, clock, token, reloadTokens }),
      requestsPart(this.#log, (method, target) => this.#collectionAt(method, target)),
      rulesPart(this.#rules, this.#rulesAtStart),
    ];
    const reset = async () => {
      this.#listener?.discardUnfinished();
      await this.#gate.reset(async () => {
        await stopImport();
        resetRates();
        store.replace(this.#start);
        await Promise.all(parts.map((part) => part.reset?.()));
      });
      return respondDone();
    };
    const describe = () =>
      respondControl(
        Object.assign(
          {
            url: this.#url,
            resourcesUrl: this.resourcesUrls[0] ?? this.#url,
            collections: store.contract.collections.map((collection, index) => ({
              name: controlName(collection),
              url: this.resourcesUrls[index],
              resources: store.count(collection),
            })),
          },
          ...parts.map((part) => part.describe?.()),
        ),
      );
    const own = { "GET /sandbox": describe, "POST /sandbox/reset": reset };
    const routes = Object.assign(own, ...parts.map((part) => part.routes));
    return new Control(routes, {
      names: adminNames,
      cors,
      authenticate: passwordCheck(sessions, new TrustedProxies(trustedProxies)),
    });
  }

  /** Opens the public port. Rejects with a ListenError if that fails. */
  async listen({
    basePath,
    ...options
  }: Omit<SandboxListenerOptions, "log"> & { readonly basePath: string }): Promise<SandboxListener> {
    const listener = await SandboxListener.open({ ...options, log: this.#log });
    this.#listener = listener;
    this.#url = listener.origin + basePath;
    return listener;
  }

  /** Where plants are created, by collection. */
  get resourcesUrls(): readonly string[] {
    return this.store.contract.collections.map(({ path }) => this.#url + path);
  }

  #collectionAt(method: string, target: string): string | undefined {
    const path = URL.parse(target)?.pathname ?? target.replace(/[?#].*$/s, "");
    const route = this.#routes?.find(method, path);
    const collection = route && this.#routes?.collectionOf(route);
    return collection && controlName(collection);
  }

  /** The base URL; empty until the public port is open. */
  get url(): string {
    return this.#url;
  }
}
