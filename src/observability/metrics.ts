// The metrics, in Prometheus' format: counted from events, and read from the house when they are asked for.

import { setTimeout as sleep } from "node:timers/promises";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { type ErrorCode, errorRegistry } from "../contract/errors.ts";
import { PrometheusHistogram } from "./prometheus-histogram.ts";
import type { BatchCommitted, Clock, RequestRecord, Result, ServerEvent } from "./server-event.ts";

/** What is not counted but read at each scrape. */
export interface Gauges {
  readonly queuePlants: () => number;
  readonly bodyBytesInFlight: () => number;
  readonly connections: () => number;
  /** Undefined where the engine does not tell. */
  readonly storeBytes: () => Promise<number | undefined>;
}

/** What the program is, told as the labels of plantstore_build_info. */
export interface BuildInfo {
  readonly version: string;
  readonly bun: string;
  readonly engine: string;
}

const secondsBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const plantsBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

/** Of prom-client's own set, what Bun does not have, or has as zeros alone. */
const meaningless =
  /^nodejs_(?:heap_space|active|version_info|gc|eventloop_lag_(?:min|mean|stddev|p50|p90)_)/;

/** A database that is out of reach must not keep the other metrics from being read. */
const storeAnswerMsMax = 1_000;

/** The size of the store is asked for at most this often, and never while the last answer is still awaited. */
const storeBytesPauseMs = 1_000;

export class Metrics {
  readonly contentType: string = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #registry = new Registry();
  readonly #results = new Map<Result, number>();
  readonly #createSeconds: PrometheusHistogram;
  readonly #commitSeconds: Histogram;
  readonly #batchPlants: Histogram;
  readonly #storeFailures: Counter;
  readonly #faults: Counter;
  readonly #certificateExpiry: Gauge;

  constructor(readings: Gauges, buildInfo: BuildInfo, now: Clock) {
    const storeBytes = atMostEvery(storeBytesPauseMs, now, readings.storeBytes);
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
      help: "Creates that were answered with 200, by outcome.",
      labelNames: ["outcome"],
      registers,
      collect() {
        this.reset();
        for (const outcome of ["created", "unchanged"] as const)
          this.inc({ outcome }, results.get(outcome) ?? 0);
      },
    });
    new Counter({
      name: "plantstore_refusals_total",
      help: "Requests that were refused, by error code.",
      labelNames: ["error"],
      registers,
      collect() {
        this.reset();
        for (const [code, { error }] of Object.entries(errorRegistry))
          this.inc({ error }, results.get(code as ErrorCode) ?? 0);
      },
    });
    new Counter({
      name: "plantstore_requests_gone_total",
      help: "Requests whose client left before they were answered.",
      registers,
      collect() {
        this.reset();
        this.inc(results.get("gone") ?? 0);
      },
    });
    this.#createSeconds = new PrometheusHistogram(
      {
        name: "plantstore_create_duration_seconds",
        help: "Time from a create's headers to its answer of 200.",
        bounds: secondsBounds,
      },
      this.#registry,
    );
    this.#commitSeconds = new Histogram({
      name: "plantstore_commit_duration_seconds",
      help: "Time that the store took for a batch.",
      buckets: secondsBounds,
      registers,
    });
    this.#batchPlants = new Histogram({
      name: "plantstore_batch_plants",
      help: "Plants in a batch.",
      buckets: plantsBounds,
      registers,
    });
    this.#storeFailures = new Counter({
      name: "plantstore_store_failures_total",
      help: "Times that the store could not commit or be read.",
      registers,
    });
    this.#faults = new Counter({
      name: "plantstore_faults_total",
      help: "Requests that failed by a fault of the program.",
      registers,
    });
    this.#certificateExpiry = new Gauge({
      name: "plantstore_certificate_expiry_timestamp_seconds",
      help: "When the certificate of the public listener ends; 0 without one.",
      registers,
    });
    gauge("plantstore_queue_plants", "Plants that wait for a batch.", readings.queuePlants);
    gauge("plantstore_body_bytes", "Memory set aside for bodies on their way.", readings.bodyBytesInFlight);
    gauge("plantstore_connections", "Connections to the public listener.", readings.connections);
    new Gauge({
      name: "plantstore_store_bytes",
      help: "What the store takes of the disk; absent while it cannot be asked.",
      registers,
      async collect() {
        this.remove();
        const bytes = await Promise.race([storeBytes(), noAnswer()]).catch(() => undefined);
        if (bytes !== undefined) this.set(bytes);
      },
    });
    new Gauge({
      name: "plantstore_build_info",
      help: "1, with what the program is as labels.",
      labelNames: Object.keys(buildInfo),
      registers,
    }).set({ ...buildInfo }, 1);

    collectDefaultMetrics({ register: this.#registry });
    for (const { name } of this.#registry.getMetricsAsArray())
      if (meaningless.test(name)) this.#registry.removeSingleMetric(name);
  }

  handle(event: ServerEvent): void {
    switch (event.kind) {
      case "answered":
        this.#answered(event.exchange);
        break;
      case "committed":
        this.#committed(event);
        break;
      case "storeUnavailable":
      case "tokenReloadFailed":
        this.#storeFailures.inc();
        break;
      case "fault":
        this.#faults.inc();
        break;
      case "certificateInUse":
        this.#certificateExpiry.set(event.expiresAt / 1_000);
        break;
      case "configured":
      case "connectionsShed":
      case "descriptorsScarce":
      case "lastUsedWriteFailed":
      case "endedTokensUnremoved":
      case "traceExportFailed":
      case "certificateReloadFailed":
      case "jwksRefreshFailed":
      case "listening":
      case "storeFailed":
      case "stopping":
      case "forcedExit":
      case "stopped":
        break;
    }
  }

  /** All metrics as text, in the format that contentType names. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #answered({ result, startedAt, endedAt }: RequestRecord): void {
    this.#results.set(result, (this.#results.get(result) ?? 0) + 1);
    if (result === "created" || result === "unchanged")
      this.#createSeconds.add((endedAt - startedAt) / 1_000);
  }

  #committed({ plants, startedAt, endedAt }: BatchCommitted): void {
    this.#commitSeconds.observe((endedAt - startedAt) / 1_000);
    this.#batchPlants.observe(plants);
  }
}

/** The same reading, which is made again only when the last one has ended and so much time has passed since it began. */
function atMostEvery<Value>(backoffMs: number, now: Clock, read: () => Promise<Value>): () => Promise<Value> {
  let last: Promise<Value> | undefined;
  let isRunning = false;
  let beganAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (last !== undefined && (isRunning || now() - beganAt < backoffMs)) return last;
    isRunning = true;
    beganAt = now();
    last = read().finally(() => {
      isRunning = false;
    });
    return last;
  };
}

function noAnswer(): Promise<undefined> {
  return sleep(storeAnswerMsMax, undefined, { ref: false });
}
