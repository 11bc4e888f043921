// Measures the process, in metrics with the names that Prometheus' client libraries give them.

import { readdirSync, readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { counter, gauge, type Metric } from "./prometheus-text.ts";

export class ProcessMetrics {
  readonly #delays = monitorEventLoopDelay();
  readonly #startedAt = Math.round(Date.now() / 1_000 - process.uptime());

  /** The metrics now; the delays of the event loop are those since the last call. */
  read(): Metric[] {
    // It wakes the process a hundred times a second, which is not done for nobody.
    this.#delays.enable();
    const { user, system } = process.cpuUsage();
    // Bun reads /proc for it.
    const memory = orUndefined(() => process.memoryUsage());
    const descriptors = orUndefined(() => readdirSync("/proc/self/fd").length);
    const delay = this.#delays.percentile(99);
    this.#delays.reset();
    return [
      counter(
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
        (user + system) / 1e6,
      ),
      gauge(
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
        this.#startedAt,
      ),
      gauge("process_resident_memory_bytes", "Resident memory size in bytes.", memory?.rss),
      // Minus the descriptor by which they were read.
      gauge("process_open_fds", "Number of open file descriptors.", descriptors && descriptors - 1),
      gauge("process_max_fds", "Maximum number of open file descriptors.", openFilesMax()),
      gauge(
        "nodejs_eventloop_lag_p99_seconds",
        "The 99th percentile of the recorded event loop delays.",
        delay / 1e9,
      ),
    ];
  }
}

/** The limit on open files; undefined if it is unknown. */
function openFilesMax(): number | undefined {
  const limits = orUndefined(() => readFileSync("/proc/self/limits", "utf8")) ?? "";
  const [, limit] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return limit === undefined ? undefined : Number(limit);
}

/** Reading fails when no descriptor is free, which is when the other metrics are needed. */
function orUndefined<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
