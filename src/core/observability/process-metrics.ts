// The metrics of the process, with the names that Prometheus' client libraries give them.

import { readdirSync, readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { counter, gauge, type Metric } from "./prometheus-text.ts";

const isLinux = process.platform === "linux";

export class ProcessMetrics {
  readonly #delays = monitorEventLoopDelay();
  readonly #startedAt = Math.round(Date.now() / 1_000 - process.uptime());

  constructor() {
    this.#delays.enable();
  }

  /** The metrics now; the delays of the event loop are those since the last call. */
  async read(): Promise<Metric[]> {
    const { user, system } = process.cpuUsage();
    // Bun reads /proc for it.
    const memory = orUndefined(() => process.memoryUsage());
    const delays = this.#delays;
    const metrics = [
      counter("process_cpu_user_seconds_total", "Total user CPU time spent in seconds.", user / 1e6),
      counter("process_cpu_system_seconds_total", "Total system CPU time spent in seconds.", system / 1e6),
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
      ...(isLinux ? linuxMetrics() : []),
      gauge("nodejs_eventloop_lag_seconds", "Lag of event loop in seconds.", await measureLag()),
      gauge("nodejs_eventloop_lag_max_seconds", "The maximum recorded event loop delay.", delays.max / 1e9),
      gauge(
        "nodejs_eventloop_lag_p99_seconds",
        "The 99th percentile of the recorded event loop delays.",
        delays.percentile(99) / 1e9,
      ),
      gauge("nodejs_heap_size_total_bytes", "Process heap size from Node.js in bytes.", memory?.heapTotal),
      gauge("nodejs_heap_size_used_bytes", "Process heap size used from Node.js in bytes.", memory?.heapUsed),
      gauge("nodejs_external_memory_bytes", "Node.js external memory size in bytes.", memory?.external),
    ];
    delays.reset();
    return metrics;
  }
}

/** proc_pid_status(5), proc_pid_limits(5), proc_pid_fd(5). Reading /proc does not wait. */
function linuxMetrics(): Metric[] {
  const status = orUndefined(() => readFileSync("/proc/self/status", "utf8")) ?? "";
  const descriptors = orUndefined(() => readdirSync("/proc/self/fd").length);
  const bytes = (pattern: RegExp) => {
    const kilobytes = pattern.exec(status)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
  };
  const virtualBytes = bytes(/^VmSize:\s+(\d+) kB$/m);
  const heapBytes = bytes(/^VmData:\s+(\d+) kB$/m);
  return [
    gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", virtualBytes),
    gauge("process_heap_bytes", "Process heap size in bytes.", heapBytes),
    // Minus the descriptor by which they were read.
    gauge("process_open_fds", "Number of open file descriptors.", descriptors && descriptors - 1),
    gauge("process_max_fds", "Maximum number of open file descriptors.", openFilesMax()),
  ];
}

/** The limit on open files; undefined if it is unknown. */
export function openFilesMax(): number | undefined {
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

/** How long a task waits for its turn, in seconds. */
async function measureLag(): Promise<number> {
  const start = performance.now();
  await nextTurn();
  return (performance.now() - start) / 1_000;
}
