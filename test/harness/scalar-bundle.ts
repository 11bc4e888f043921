// Scalar's bundle for browsers, as its makers publish it.

import scalar from "@scalar/fastify-api-reference";

/** Where the server has it. */
export const bundleFile = new URL("../../src/api/docs/scalar.js.gz", import.meta.url).pathname;

interface Route {
  readonly url: string;
  handler(request: unknown, reply: { header(): typeof reply; send(text: string): string }): string;
}

/** The bundle out of the pinned package. Its plugin for Fastify holds it as text, and sends it at one of its routes. */
export function publishedBundle(): string {
  const routes: Route[] = [];
  const fastify = { route: (route: Route) => routes.push(route), initialConfig: {} };
  const register = scalar as unknown as (host: typeof fastify, options: unknown, done: () => void) => void;
  register(fastify, { configuration: { url: "openapi.json" } }, () => {});
  const route = routes.find(({ url }) => url.endsWith(".js"));
  if (route === undefined)
    throw new Error(`No route of Scalar's is a script: ${routes.map(({ url }) => url)}`);
  const reply = { header: () => reply, send: (text: string) => text };
  return route.handler(undefined, reply);
}
