// Traces: each request as a span, and its commit as one within, sent to an OpenTelemetry collector.
//
// Spans are made from events after the fact, so the request's way knows nothing of them. The packages are loaded by
// whoever asks for traces, and by nobody else.

import type { Context, Tracer } from "@opentelemetry/api";
import type { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { errorRegistry } from "../contract/errors.ts";
import type { BatchCommitted, Clock, RequestRecord, ServerEvent } from "./server-event.ts";

export interface TraceOptions {
  /** The collector's base address, such as http://127.0.0.1:4318; spans go to its /v1/traces. */
  readonly endpoint: string;
  readonly version: string;
  readonly now: Clock;
  /** Milliseconds since the epoch. */
  readonly wallNow: () => number;
  /** Hears why spans could not be sent; they are lost. */
  readonly observeUnsent: (reason: string) => void;
}

/** A collector that hangs must not hold up the end of the server. */
const endMsMax = 2_000;

export class Tracing {
  readonly #api: typeof import("@opentelemetry/api");
  readonly #provider: BasicTracerProvider;
  readonly #tracer: Tracer;
  readonly #epochOf: (moment: number) => number;
  #lastCommit: BatchCommitted | undefined;

  private constructor(
    api: typeof import("@opentelemetry/api"),
    provider: BasicTracerProvider,
    { now, wallNow }: TraceOptions,
  ) {
    this.#api = api;
    this.#provider = provider;
    this.#tracer = provider.getTracer("plantstore");
    this.#epochOf = (moment) => wallNow() - now() + moment;
  }

  /** Gets ready to send. What else OpenTelemetry has to set comes from its own variables, OTEL_*. */
  static async start(options: TraceOptions): Promise<Tracing> {
    const [api, { BasicTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, resources] =
      await Promise.all([
        import("@opentelemetry/api"),
        import("@opentelemetry/sdk-trace-base"),
        import("@opentelemetry/exporter-trace-otlp-http"),
        import("@opentelemetry/resources"),
      ]);
    const ignore = () => undefined;
    api.diag.setLogger(
      { error: options.observeUnsent, warn: ignore, info: ignore, debug: ignore, verbose: ignore },
      api.DiagLogLevel.ERROR,
    );
    const exporter = new OTLPTraceExporter({ url: `${options.endpoint}/v1/traces` });
    const provider = new BasicTracerProvider({
      resource: resources
        .resourceFromAttributes({ "service.name": "plantstore", "service.version": options.version })
        .merge(resources.detectResources({ detectors: [resources.envDetector] })),
      spanProcessors: [new BatchSpanProcessor(exporter)],
    });
    return new Tracing(api, provider, options);
  }

  handle(event: ServerEvent): void {
    // The requests of a batch are answered in the turn in which it comes back, before any other batch does.
    if (event.kind === "committed") this.#lastCommit = event;
    else if (event.kind === "answered") this.#answered(event.exchange);
  }

  /** Sends what is left, for two seconds at the most. */
  async end(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, endMsMax);
    // Why it could not be sent was said by diag.
    await Promise.race([this.#provider.shutdown().catch(() => undefined), late.promise]);
    clearTimeout(timer);
  }

  #answered(exchange: Readonly<RequestRecord>): void {
    const { trace, SpanKind, SpanStatusCode } = this.#api;
    const { method, path, status, result, requestId, caller, startedAt, endedAt } = exchange;
    const parent = this.#parentOf(exchange);
    const span = this.#tracer.startSpan(
      // A path of the client's invention would be a name of its own.
      status === 404 ? method : `${method} ${path}`,
      {
        kind: SpanKind.SERVER,
        startTime: this.#epochOf(startedAt),
        attributes: {
          "http.request.method": method,
          "http.response.status_code": status,
          "url.path": path,
          "plantstore.request_id": requestId,
          ...(caller === undefined ? {} : { "plantstore.token": caller }),
          ...(result in errorRegistry
            ? { "error.type": String(errorRegistry[result as keyof typeof errorRegistry].error) }
            : { "plantstore.result": result }),
        },
      },
      parent,
    );
    // OpenTelemetry's semantic conventions for HTTP: what the client did wrong is no error of a server's span.
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    if (result === "created") this.#traceCommit(trace.setSpan(parent, span), startedAt);
    span.end(this.#epochOf(endedAt));
  }

  #traceCommit(request: Context, requestStartedAt: number): void {
    const commit = this.#lastCommit;
    if (commit === undefined || commit.startedAt < requestStartedAt) return;
    const attributes = { "plantstore.batch_plants": commit.plants };
    this.#tracer
      .startSpan("commit", { startTime: this.#epochOf(commit.startedAt), attributes }, request)
      .end(this.#epochOf(commit.endedAt));
  }

  /** The caller's span (W3C Trace Context, section 3.2: version, trace id, parent id, flags). */
  #parentOf({ traceparent }: Readonly<RequestRecord>): Context {
    const { trace, ROOT_CONTEXT } = this.#api;
    if (traceparent === null) return ROOT_CONTEXT;
    const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
    const traceFlags = Number.parseInt(flags, 16);
    return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
  }
}
