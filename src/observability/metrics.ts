// The metrics in Prometheus' text format: counters and histograms of events, and gauges that are read at each scrape.

import { setTimeout as sleep } from "node:timers/promises";
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from "prom-client";
import { type ErrorCode, errorRegistry } from "../contract/errors.ts";
import type { BatchCommitted, Clock, RequestRecord, Result, ServerEvent } from "./server-event.ts";

/** Values that are read at each scrape. */
export interface Gauges {
  readonly queuePlants: () => number;
  readonly bodyBytesInFlight: () => number;
  readonly connections: () => number;
  /** Undefined if the engine cannot measure it. */
  readonly storeBytes: () => Promise<number | undefined>;
  /** Undefined if the engine has no write-ahead log of its own. */
  readonly walBytes: () => number | undefined;
}

/** The labels of plantstore_build_info. */
export interface BuildInfo {
  readonly version: string;
  readonly bun: string;
  readonly engine: string;
}

const secondsBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const plantsBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

/** Default metrics of prom-client that Bun does not have, or that are always 0. */
const unsupported =
  /^nodejs_(?:heap_space|active|version_info|gc|eventloop_lag_(?:min|mean|stddev|p50|p90)_)/;

/** How long a scrape waits for the size of the store: a database that cannot be reached must not delay the other metrics. */
const storeBytesMsMax = 1_000;

/** The size of the store is measured at most this often, and never twice at the same time. */
const storeBytesPauseMs = 1_000;

export class Metrics {
  readonly contentType: string = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #registry = new Registry();
  readonly #results = new Map<Result, number>();
  readonly #createSeconds: PrometheusHistogram;
  readonly #commitSeconds: PrometheusHistogram;
  readonly #batchPlants: PrometheusHistogram;
  readonly #storeFailures: Counter;
  readonly #internalErrors: Counter;
  readonly #certificateExpiry: Gauge;

  constructor(gauges: Gauges, buildInfo: BuildInfo, now: Clock) {
    const storeBytes = throttled(storeBytesPauseMs, now, gauges.storeBytes);
    const registers = [this.#registry];
    const results = this.#results;
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });

    new Counter({
      name: "plantstore_creates_total",
      help: "Creates with status 200, by outcome.",
      labelNames: ["outcome"],
      registers,
      collect() {
        this.reset();
        for (const outcome of ["created", "unchanged"] as const)
          this.inc({ outcome }, results.get(outcome) ?? 0);
      },
    });
    new Counter({
      name: "plantstore_errors_total",
      help: "Requests that failed, by error code.",
      labelNames: ["error"],
      registers,
      collect() {
        this.reset();
        for (const [code, { error }] of Object.entries(errorRegistry))
          this.inc({ error }, results.get(code as ErrorCode) ?? 0);
      },
    });
    new Counter({
      name: "plantstore_requests_aborted_total",
      help: "Requests whose client closed the connection before the response.",
      registers,
      collect() {
        this.reset();
        this.inc(results.get("clientAborted") ?? 0);
      },
    });
    this.#createSeconds = new PrometheusHistogram(
      {
        name: "plantstore_create_duration_seconds",
        help: "Time from the headers of a create to its response with status 200.",
        bounds: secondsBounds,
      },
      this.#registry,
    );
    this.#commitSeconds = new PrometheusHistogram(
      {
        name: "plantstore_commit_duration_seconds",
        help: "Time that the store took to commit a batch.",
        bounds: secondsBounds,
      },
      this.#registry,
    );
    this.#batchPlants = new PrometheusHistogram(
      { name: "plantstore_batch_plants", help: "Plants in a batch.", bounds: plantsBounds },
      this.#registry,
    );
    this.#storeFailures = new Counter({
      name: "plantstore_store_failures_total",
      help: "Failed commits and token reads of the store.",
      registers,
    });
    this.#internalErrors = new Counter({
      name: "plantstore_internal_errors_total",
      help: "Requests that failed with an internal error.",
      registers,
    });
    this.#certificateExpiry = new Gauge({
      name: "plantstore_certificate_expiry_timestamp_seconds",
      help: "When the certificate of the public listener expires; 0 without one.",
      registers,
    });
    gauge("plantstore_queue_plants", "Plants that are queued for a batch.", gauges.queuePlants);
    gauge(
      "plantstore_body_bytes",
      "Memory reserved for request bodies that are being received or processed.",
      gauges.bodyBytesInFlight,
    );
    gauge("plantstore_connections", "Open connections of the public listener.", gauges.connections);
    new Gauge({
      name: "plantstore_store_bytes",
      help: "Size of the store on disk; absent while it cannot be measured.",
      registers,
      async collect() {
        this.remove();
        const bytes = await Promise.race([storeBytes(), storeTimeout()]).catch(() => undefined);
        if (bytes !== undefined) this.set(bytes);
      },
    });
    if (gauges.walBytes() !== undefined)
      gauge("plantstore_wal_bytes", "Size of SQLite's write-ahead log; absent on PostgreSQL.", () =>
        Number(gauges.walBytes()),
      );
    new Gauge({
      name: "plantstore_build_info",
      help: "Always 1; the versions and the engine are labels.",
      labelNames: Object.keys(buildInfo),
      registers,
    }).set({ ...buildInfo }, 1);

    collectDefaultMetrics({ register: this.#registry });
    for (const { name } of this.#registry.getMetricsAsArray())
      if (unsupported.test(name)) this.#registry.removeSingleMetric(name);
  }

  handle(event: ServerEvent): void {
    switch (event.kind) {
      case "requestCompleted":
        this.#countRequest(event.request);
        break;
      case "batchCommitted":
        this.#countBatch(event);
        break;
      case "storeUnavailable":
      case "tokenReloadFailed":
        this.#storeFailures.inc();
        break;
      case "internalError":
        this.#internalErrors.inc();
        break;
      case "certificateLoaded":
        this.#certificateExpiry.set(event.expiresAt / 1_000);
        break;
      case "configured":
      case "connectionsShed":
      case "openFileLimitTooLow":
      case "lastUsedWriteFailed":
      case "tokenRemovalFailed":
      case "traceExportFailed":
      case "certificateReloadFailed":
      case "jwksRefreshFailed":
      case "listening":
      case "storeFailed":
      case "shuttingDown":
      case "forcedExit":
      case "stopped":
        break;
    }
  }

  /** All metrics as text, in the format that contentType names. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #countRequest({ result, startedAt, endedAt }: RequestRecord): void {
    this.#results.set(result, (this.#results.get(result) ?? 0) + 1);
    if (result === "created" || result === "unchanged")
      this.#createSeconds.add((endedAt - startedAt) / 1_000);
  }

  #countBatch({ plants, startedAt, endedAt }: BatchCommitted): void {
    this.#commitSeconds.add((endedAt - startedAt) / 1_000);
    this.#batchPlants.add(plants);
  }
}

/** The same reading, repeated only if the last one has ended and began at least `intervalMs` ago; otherwise its result. */
function throttled<Value>(intervalMs: number, now: Clock, read: () => Promise<Value>): () => Promise<Value> {
  let last: Promise<Value> | undefined;
  let isRunning = false;
  let startedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (last !== undefined && (isRunning || now() - startedAt < intervalMs)) return last;
    isRunning = true;
    startedAt = now();
    last = read().finally(() => {
      isRunning = false;
    });
    return last;
  };
}

function storeTimeout(): Promise<undefined> {
  return sleep(storeBytesMsMax, undefined, { ref: false });
}

interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  /** The upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[];
}

/** A histogram without labels. `add` takes 0.02 µs, prom-client's `observe` 0.19 µs. */
class PrometheusHistogram {
  readonly name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor({ name, help, bounds }: HistogramOptions, registry: Registry) {
    this.name = name;
    this.#help = help;
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
    // A registry uses only the name and get() of a metric.
    registry.registerMetric(this as unknown as Metric);
  }

  /** Counts one value. */
  add(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  /** The samples for the registry; bucket counts are cumulative. */
  async get() {
    let count = 0;
    const buckets = [...this.#bounds, "+Inf"].map((le, bucket) => {
      count += this.#counts[bucket] ?? 0;
      return { metricName: `${this.name}_bucket`, labels: { le }, value: count };
    });
    const values = [
      ...buckets,
      { metricName: `${this.name}_sum`, labels: {}, value: this.#sum },
      { metricName: `${this.name}_count`, labels: {}, value: count },
    ];
    return { name: this.name, help: this.#help, type: "histogram", values, aggregator: "sum" };
  }
}
