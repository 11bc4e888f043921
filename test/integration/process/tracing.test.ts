// Traces as a collector receives them over OTLP.

import { expect, test } from "bun:test";
import { plantJson, post, send, sendTo } from "../../support/http.ts";
import { RunningServer } from "../../support/server.ts";

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { key: string; value: { stringValue?: string; intValue?: number } }[];
  readonly status: { readonly code: number };
}

/** An OTLP receiver over HTTP, which stores the spans that it receives. */
class Collector implements Disposable {
  readonly spans: Span[] = [];
  readonly resources: unknown[] = [];
  readonly #listener = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/v1/traces": {
        POST: async (request) => {
          const { resourceSpans } = (await request.json()) as {
            resourceSpans: { resource: unknown; scopeSpans: { spans: Span[] }[] }[];
          };
          for (const { resource, scopeSpans } of resourceSpans) {
            this.resources.push(resource);
            for (const { spans } of scopeSpans) this.spans.push(...spans);
          }
          return Response.json({});
        },
      },
    },
  });

  get url(): string {
    return this.#listener.url.origin;
  }

  [Symbol.dispose](): void {
    void this.#listener.stop(true);
  }
}

function attributesOf({ attributes }: Span): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}

test("a create is a span with a child span for its commit, in the caller's trace", async () => {
  using collector = new Collector();
  await using server = await RunningServer.startInProcess({ args: ["--otlp-endpoint", collector.url] });
  const target = { url: server.url, token: await server.createToken("ci") };
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  await post(target, plantJson(1n, "Monstera"), { traceparent: `00-${trace}-00f067aa0ba902b7-01` });
  await post(target, plantJson(1n, "Ficus"));
  await sendTo(target, "GET", "/any/thing");
  await send(`${server.url}/made/up`);
  // Its caller does not sample it, so it is not exported.
  await post(target, plantJson(2n, "Ficus"), { traceparent: `00-${trace}-00f067aa0ba902b7-00` });
  expect((await server.stop()).exitCode).toBe(0);

  const [create, commit, conflict, ...nowhere] = collector.spans.toSorted((one, other) =>
    Number(BigInt(one.startTimeUnixNano) - BigInt(other.startTimeUnixNano)),
  );
  expect(create).toMatchObject({
    name: "POST /plants",
    traceId: trace,
    parentSpanId: "00f067aa0ba902b7",
    kind: 2,
  });
  expect(create && attributesOf(create)).toEqual({
    "http.request.method": "POST",
    "http.response.status_code": 200,
    "url.path": "/plants",
    "plantstore.request_id": trace,
    "plantstore.token": "ci",
    "plantstore.result": "created",
  });
  expect(commit).toMatchObject({ name: "commit", traceId: trace, parentSpanId: create?.spanId });
  expect(commit && attributesOf(commit)).toEqual({ "plantstore.batch_plants": 1 });
  const times = [
    create?.startTimeUnixNano,
    commit?.startTimeUnixNano,
    commit?.endTimeUnixNano,
    create?.endTimeUnixNano,
  ].map((time) => BigInt(time ?? 0));
  expect(times).toEqual(times.toSorted((one, other) => Number(one - other)));
  expect(conflict && attributesOf(conflict)).toMatchObject({ "error.type": "40009" });
  expect(conflict?.status.code).toBe(0);
  expect(conflict?.traceId).not.toBe(trace);
  expect(nowhere.map(({ name }) => name)).toEqual(["GET", "GET"]);
  expect(JSON.stringify(collector.resources)).toContain('"stringValue":"plantstore"');
  expect(JSON.stringify(collector.spans)).not.toContain("Monstera");
});

test("a collector that cannot be reached causes a warning, and delays neither requests nor the end", async () => {
  // In a process of its own: OpenTelemetry reads the variables of the process.
  await using server = await RunningServer.start({
    args: ["--otlp-endpoint", "http://127.0.0.1:1/v1/traces"],
    env: { OTEL_BSP_SCHEDULE_DELAY: "100", OTEL_EXPORTER_OTLP_TIMEOUT: "500" },
  });
  const target = await server.target();
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
  const warning = await server.logged(({ msg }) => msg === "trace export failed; the spans are lost");
  expect(warning.level).toBe("warn");
  expect(warning.reason).toMatch(/^http:\/\/127\.0\.0\.1:1\/v1\/traces: [^{\n]+$/);
  expect((await server.stop()).exitCode).toBe(0);
});

test("an export that a collector does not answer does not keep the process from ending", async () => {
  const unanswered = Promise.withResolvers<Response>();
  const collector = Bun.serve({ port: 0, idleTimeout: 0, fetch: () => unanswered.promise });
  await using server = await RunningServer.start({
    args: ["--otlp-endpoint", collector.url.origin],
    env: { OTEL_EXPORTER_OTLP_TIMEOUT: "600000" },
  });
  expect((await post(await server.target(), plantJson(1n, "Monstera"))).status).toBe(200);
  expect((await server.stop()).exitCode).toBe(0);
  unanswered.resolve(Response.json({}));
  await collector.stop(true);
});
