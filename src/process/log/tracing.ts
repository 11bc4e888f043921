// Exports a span for each request, with a child span for its commit, to an OpenTelemetry collector.
// Spans are made from events after a request is completed, so request handling does not depend on
// tracing. OpenTelemetry is imported only if tracing is started.

import { errorNumber } from "../../base/errors.ts";
import type { BatchCommitted, Clock, RequestRecord, ServerEvent } from "../../base/server-event.ts";
import { withinTime } from "../../base/time-limit.ts";
import type { BasicTracerProvider, Context, Tracer } from "./opentelemetry.js";

type OpenTelemetry = typeof import("./opentelemetry.js");

export interface TraceOptions {
  /** The collector's base address, such as http://127.0.0.1:4318, or that of its /v1/traces. */
  readonly endpoint: string;
  readonly version: string;
  readonly now: Clock;
  /** Milliseconds since the epoch. */
  readonly wallNow: () => number;
  /** Called with the reason when spans could not be exported; they are lost. */
  readonly onExportFailed: (reason: string) => void;
}

/** OpenTelemetry reports an error as a JSON text with its stack. */
function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { readonly message?: unknown }).message ?? text);
  } catch {
    return text;
  }
}

/** How long the last export may delay the end of the server. */
const shutdownMsMax = 2_000;

export class Tracing {
  readonly #api: OpenTelemetry;
  readonly #provider: BasicTracerProvider;
  readonly #tracer: Tracer;
  /** When the clock of the events was 0, in milliseconds since the epoch. */
  readonly #epochMs: () => number;
  #lastCommit: BatchCommitted | undefined;

  private constructor(api: OpenTelemetry, provider: BasicTracerProvider, { now, wallNow }: TraceOptions) {
    this.#api = api;
    this.#provider = provider;
    this.#tracer = provider.getTracer("plantstore");
    this.#epochMs = () => wallNow() - now();
  }

  /** Starts tracing. OpenTelemetry's own variables, OTEL_*, set all other options. */
  static async start(options: TraceOptions): Promise<Tracing> {
    const api = await import("./opentelemetry.js");
    const ignore = () => undefined;
    const url = `${options.endpoint.replace(/\/v1\/traces$/, "")}/v1/traces`;
    const error = (text: string) => options.onExportFailed(`${url}: ${messageOf(text)}`);
    api.diag.setLogger(
      { error, warn: ignore, info: ignore, debug: ignore, verbose: ignore },
      api.DiagLogLevel.ERROR,
    );
    const exporter = new api.OTLPTraceExporter({ url });
    const provider = new api.BasicTracerProvider({
      resource: api
        .resourceFromAttributes({ "service.name": "plantstore", "service.version": options.version })
        .merge(api.detectResources({ detectors: [api.envDetector] })),
      spanProcessors: [new api.BatchSpanProcessor(exporter)],
    });
    return new Tracing(api, provider, options);
  }

  handle(event: ServerEvent): void {
    // The creates of a batch are completed as soon as it is emitted, before another one is.
    if (event.kind === "batchCommitted") this.#lastCommit = event;
    else if (event.kind === "requestCompleted") this.#traceRequest(event.request);
  }

  /** Exports the remaining spans, for at most two seconds. */
  async end(): Promise<void> {
    // The diag logger has reported the reason of a failure.
    await withinTime(this.#provider.shutdown(), shutdownMsMax, "the collector").catch(() => undefined);
  }

  #traceRequest(request: Readonly<RequestRecord>): void {
    const { trace, SpanKind, SpanStatusCode } = this.#api;
    const { method, path, operation, status, result, requestId, caller, startedAt, endedAt } = request;
    const error = errorNumber(result);
    const parent = this.#parentContext(request);
    // Read once, so that the spans of a request agree: the wall clock may be set.
    const epochMs = this.#epochMs();
    const span = this.#tracer.startSpan(
      // The span name must have low cardinality, so it has no path that the client made up.
      operation === undefined ? method : `${method} ${operation.path}`,
      {
        kind: SpanKind.SERVER,
        startTime: epochMs + startedAt,
        attributes: {
          "http.request.method": method,
          "http.response.status_code": status,
          "url.path": path,
          "plantstore.request_id": requestId,
          ...(caller === undefined ? {} : { "plantstore.token": caller }),
          ...(error === undefined ? { "plantstore.result": result } : { "error.type": String(error) }),
        },
      },
      parent,
    );
    // OpenTelemetry semantic conventions for HTTP: in a server span, 4xx is not an error.
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    if (result === "created") this.#traceCommit(trace.setSpan(parent, span), epochMs);
    span.end(epochMs + endedAt);
  }

  #traceCommit(parent: Context, epochMs: number): void {
    const commit = this.#lastCommit;
    if (commit === undefined) return;
    const attributes = { "plantstore.batch_plants": commit.plants };
    this.#tracer
      .startSpan("commit", { startTime: epochMs + commit.startedAt, attributes }, parent)
      .end(epochMs + commit.endedAt);
  }

  /** The caller's span (W3C Trace Context, section 3.2: version, trace id, parent id, flags). */
  #parentContext({ traceparent }: Readonly<RequestRecord>): Context {
    const { trace, ROOT_CONTEXT } = this.#api;
    if (traceparent === null) return ROOT_CONTEXT;
    const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
    const traceFlags = Number.parseInt(flags, 16);
    return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
  }
}
