// The public listener: its address, its paths and their methods, and what happens where the interface has nothing.

import { ContractError } from "../contract/errors.ts";
import { description } from "../contract/new-plant-schema.ts";
import { Answers } from "./answers.ts";
import { judgeCredentials } from "./bearer.ts";
import { allowOrigin, answerPreflight, type CorsOrigins, isPreflight } from "./cors.ts";
import { type CreatePlantNeeds, createPlant } from "./create-plant.ts";

export interface ServerOptions extends Omit<CreatePlantNeeds, "answers"> {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** "" or a path such as "/v1", without a slash at its end. */
  readonly basePath: string;
  /** The base address that clients use, if it is not the one that they reach the listener by. */
  readonly publicUrl: string | undefined;
  readonly corsOrigins: CorsOrigins;
  readonly observeFault: (error: unknown) => void;
}

/** A public listener that accepts requests. */
export interface PublicServer {
  /** The base address, such as http://127.0.0.1:8080/v1. */
  readonly url: string;
  /** Accepts no new connection, and resolves when what was accepted is answered or the time is over. */
  stop(drainMsMax: number): Promise<void>;
}

/** A connection is closed when it has been idle for so long, and a body that trickles in may take little longer. */
const idleSecondsMax = 30;

/** Opens the public listener. Throws what Bun.serve throws if the address cannot be taken. */
export function startServer(options: ServerOptions): PublicServer {
  const { tokens, basePath, corsOrigins, observeFault } = options;
  const answers = new Answers(corsOrigins);
  const needs = { ...options, answers };
  const plantsPath = `${basePath}/plants`;
  const descriptionPath = `${basePath}/openapi.json`;

  async function handle(request: Request): Promise<Response> {
    try {
      return allowOrigin(corsOrigins, request, await answer(request));
    } catch (error) {
      if (!request.signal.aborted) observeFault(error);
      return allowOrigin(corsOrigins, request, answers.error(fault()));
    }
  }

  function answer(request: Request): Response | Promise<Response> {
    const path = pathOf(request.url);
    if (path === plantsPath && request.method === "POST") return createPlant(request, needs);
    if (isPreflight(request)) return answerPreflight(corsOrigins, request);
    if (path === descriptionPath) return answerDescription(request);
    return answerElsewhere(request, path);
  }

  async function answerElsewhere(request: Request, path: string): Promise<Response> {
    const token = await judgeCredentials(request.headers, tokens);
    if (token instanceof ContractError) return answers.error(token);
    return path === plantsPath ? notOffered(request.method) : noSuchPath(path);
  }

  function answerDescription(request: Request): Response {
    if (request.method !== "GET" && request.method !== "HEAD") {
      const message = `${request.method} is not offered at ${descriptionPath}; GET it.`;
      return answers.error(new ContractError("methodNotOffered", message), { Allow: "GET, HEAD" });
    }
    const host = request.headers.get("host") ?? listener.url.host;
    const url = options.publicUrl ?? `http://${host}${basePath}`;
    return answers.json(JSON.stringify({ ...description, servers: [{ url, description: "This server." }] }));
  }

  function notOffered(method: string): Response {
    const message =
      `${method} is not offered at ${plantsPath}: this interface only creates plants. ` +
      `Send POST ${plantsPath} with Content-Type: application/json and a body such as ` +
      `{"id": 1, "name": "Monstera deliciosa", "tag": "tropical"}.`;
    return answers.error(new ContractError("methodNotOffered", message), { Allow: "POST" });
  }

  function noSuchPath(path: string): Response {
    const message = `There is nothing at ${path}; this interface has one operation, POST ${plantsPath}.`;
    return answers.error(new ContractError("noSuchPath", message));
  }

  const listener = Bun.serve({
    hostname: options.host,
    port: options.port,
    idleTimeout: idleSecondsMax,
    // Bun refuses what is over its own limit with a bare 413: keep it out of the way of ours, which explains itself.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: handle,
  });

  return {
    url: `http://${listener.url.host}${basePath}`,
    async stop(drainMsMax) {
      const deadline = setTimeout(() => void listener.stop(true), drainMsMax);
      await listener.stop();
      clearTimeout(deadline);
    },
  };
}

function fault(): ContractError {
  return new ContractError(
    "fault",
    "The service failed on this request, and its log says why; sending the request again is safe.",
  );
}

/** The path of a request target, which Bun gives as an absolute URL, or as it came if there was no Host. */
function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  if (start === -1) return "/";
  const end = url.indexOf("?", start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}
