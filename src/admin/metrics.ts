// Counts events for Prometheus, in counters and histograms, and reads gauges at each scrape.

import { CoalescedWork } from "../base/coalesced-work.ts";
import { type ErrorCode, errorRegistry } from "../base/errors.ts";
import type { CalledOperation, RequestRecord, Result, ServerEvent } from "../base/server-event.ts";
import { withinTime } from "../base/time-limit.ts";
import { ProcessMetrics } from "./process-metrics.ts";
import { counter, gauge, labels, type Metric, renderMetrics, type Sample } from "./prometheus-text.ts";

export interface Gauges {
  /** The operations that are served now. */
  readonly operations: () => readonly CalledOperation[];
  readonly queuedPlants: () => number;
  /** Whether each node of a cluster commits plants, by its name; undefined elsewhere. */
  readonly nodesUp: () => ReadonlyMap<string, boolean> | undefined;
  readonly bodyBytesInFlight: () => number;
  readonly connections: () => number | undefined;
  /** Milliseconds since the epoch; 0 without a certificate. */
  readonly certificateExpiresAt: () => number;
  /** Undefined if the engine cannot measure it. */
  readonly storeBytes: () => Promise<number | undefined>;
  /** Undefined if the engine has no write-ahead log of its own. */
  readonly walBytes: () => number | undefined;
}

const secondsBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const plantsBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

/** The longest wait for the size of the store: a hanging database must not delay other metrics. */
const storeBytesMsMax = 1_000;

export class Metrics {
  readonly #gauges: Gauges;
  readonly #buildInfo: Readonly<Record<string, string>>;
  /** Never runs twice at the same time: a scrape does not wait for a database that hangs. */
  readonly #storeBytes: CoalescedWork<number | undefined>;
  readonly #process = new ProcessMetrics();
  readonly #results = new Map<Result, number>();
  /** Keyed by the labels of the operation. */
  readonly #requestSeconds = new Map<string, Histogram>();
  /** The series of each operation, found by the operation itself without a text. */
  readonly #secondsOf = new WeakMap<CalledOperation, Histogram>();
  readonly #commitSeconds = new Histogram(secondsBounds);
  readonly #batchPlants = new Histogram(plantsBounds);
  #storeFailures = 0;
  #internalErrors = 0;

  /** @param buildInfo the labels of plantstore_build_info. */
  constructor(gauges: Gauges, buildInfo: Readonly<Record<string, string>>) {
    this.#gauges = gauges;
    this.#buildInfo = buildInfo;
    this.#storeBytes = new CoalescedWork(gauges.storeBytes);
  }

  handle(event: ServerEvent): void {
    switch (event.kind) {
      case "requestCompleted":
        this.#countRequest(event.request);
        break;
      case "batchCommitted":
        this.#commitSeconds.add((event.endedAt - event.startedAt) / 1_000);
        this.#batchPlants.add(event.plants);
        break;
      case "storeUnavailable":
      case "storeTaskFailed":
      case "operationFailed":
      case "tokenReloadFailed":
        this.#storeFailures++;
        break;
      case "internalError":
        this.#internalErrors++;
        break;
    }
  }

  /** All metrics as text, with prometheusContentType. */
  async text(): Promise<string> {
    const measuring = withinTime(this.#storeBytes.run(), storeBytesMsMax, "the store");
    const storeBytes = await measuring.catch(() => undefined);
    // Without the zeros before it, Prometheus would miss the first request of an operation.
    for (const each of this.#gauges.operations()) this.#secondsFor(each);
    return renderMetrics([
      counter(
        "plantstore_creates_total",
        "Creates that succeeded, by outcome.",
        (["created", "unchanged"] as const).map((outcome) => [labels({ outcome }), this.#count(outcome)]),
      ),
      counter(
        "plantstore_errors_total",
        "Requests that failed, by error code.",
        [
          ...Object.entries(errorRegistry).map(([code, { error }]) => [error, code as ErrorCode] as const),
          // Series that only an operation of one's own has.
          ...[...this.#results.keys()].flatMap((each) =>
            typeof each === "number" ? [[each, each] as const] : [],
          ),
        ].map(([error, result]) => [labels({ error }), this.#count(result)]),
      ),
      histogram(
        "plantstore_request_duration_seconds",
        "Time from the headers of a request to its response, of requests that did not fail, by operation.",
        [...this.#requestSeconds.values()],
      ),
      histogram("plantstore_commit_duration_seconds", "Time that the store took to commit a batch.", [
        this.#commitSeconds,
      ]),
      histogram("plantstore_batch_plants", "Plants in a committed batch.", [this.#batchPlants]),
      counter(
        "plantstore_store_failures_total",
        "Failed commits, checkpoints, operations and token reads of the store.",
        this.#storeFailures,
      ),
      counter(
        "plantstore_internal_errors_total",
        "Requests that failed with an internal error.",
        this.#internalErrors,
      ),
      gauge(
        "plantstore_certificate_expiry_timestamp_seconds",
        "When the certificate of the public listener expires; 0 without one.",
        this.#gauges.certificateExpiresAt() / 1_000,
      ),
      gauge("plantstore_queue_plants", "Plants that are queued for a batch.", this.#gauges.queuedPlants()),
      gauge(
        "plantstore_node_up",
        "Whether a node of a cluster commits plants; absent elsewhere.",
        [...(this.#gauges.nodesUp() ?? [])].map(([node, isUp]) => [labels({ node }), isUp ? 1 : 0]),
      ),
      gauge(
        "plantstore_body_bytes",
        "Memory reserved for request bodies that are being received or processed.",
        this.#gauges.bodyBytesInFlight(),
      ),
      gauge(
        "plantstore_connections",
        "Open connections, counted as descriptors opened since the start; absent before Linux 6.2.",
        this.#gauges.connections(),
      ),
      gauge(
        "plantstore_store_bytes",
        "Size of the store on disk; absent while it cannot be measured.",
        storeBytes,
      ),
      gauge(
        "plantstore_wal_bytes",
        "Size of SQLite's write-ahead log; absent on PostgreSQL, and while it cannot be measured.",
        this.#gauges.walBytes(),
      ),
      gauge("plantstore_build_info", "Always 1; the versions and the engine are labels.", [
        [labels(this.#buildInfo), 1],
      ]),
      ...this.#process.read(),
    ]);
  }

  #count(result: Result): number {
    return this.#results.get(result) ?? 0;
  }

  #countRequest({ operation, result, startedAt, endedAt }: RequestRecord): void {
    this.#results.set(result, this.#count(result) + 1);
    const isSuccess = result === "created" || result === "unchanged" || result === "completed";
    if (isSuccess && operation !== undefined) this.#secondsFor(operation).add((endedAt - startedAt) / 1_000);
  }

  #secondsFor(called: CalledOperation): Histogram {
    const found = this.#secondsOf.get(called);
    if (found !== undefined) return found;
    const { operationId, serves } = called;
    const operation = serves?.action ?? operationId;
    const collections = new Set(this.#gauges.operations().map((each) => each.serves?.collection));
    collections.delete(undefined);
    const values =
      serves !== undefined && collections.size > 1
        ? { operation, collection: serves.collection }
        : { operation };
    const key = labels(values);
    // Another contract has other operations with the same labels.
    const seconds = this.#requestSeconds.get(key) ?? new Histogram(secondsBounds, values);
    this.#requestSeconds.set(key, seconds);
    this.#secondsOf.set(called, seconds);
    return seconds;
  }
}

function histogram(name: string, help: string, histograms: readonly Histogram[]): Metric {
  return { type: "histogram", name, help, samples: histograms.flatMap((each) => each.samples()) };
}

/** Counts values in buckets. */
class Histogram {
  /** The upper bounds of the buckets, ascending. */
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  readonly #labels: Readonly<Record<string, string>>;
  #sum = 0;

  constructor(bounds: readonly number[], ownLabels: Readonly<Record<string, string>> = {}) {
    this.#bounds = bounds;
    this.#labels = ownLabels;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  add(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  /** Cumulative counts of the buckets, the sum and the count of all values. */
  samples(): Sample[] {
    let count = 0;
    const buckets = [...this.#bounds, "+Inf"].map((le, bucket): Sample => {
      count += this.#counts[bucket] ?? 0;
      return [`_bucket${labels({ ...this.#labels, le })}`, count];
    });
    const suffix = labels(this.#labels);
    return [...buckets, [`_sum${suffix}`, this.#sum], [`_count${suffix}`, count]];
  }
}
