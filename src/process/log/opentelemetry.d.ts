// The types of opentelemetry.js, and what `npm run update:vendored` bundles into it.
export {
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
export { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
export { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
export { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
