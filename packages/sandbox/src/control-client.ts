// Sends requests to the control interface of a sandbox.

import { Buffer } from "node:buffer";
// Not fetch: tests replace it, and Jest's jsdom does not have it.
import { type IncomingMessage, request } from "node:http";
import { parseExact, stringifyExact } from "../../client/src/exact-json.ts";
import { SandboxControlError, type SandboxError } from "./sandbox-errors.ts";

type Method = "GET" | "POST" | "PUT" | "DELETE";

export class Control {
  readonly #url: string;
  readonly #onNetworkError: (error: Error) => Promise<SandboxError>;

  /**
   * @param url The address of the control interface.
   * @param onNetworkError Returns the error of a call without a response.
   */
  constructor(url: string, onNetworkError: (error: Error) => Promise<SandboxError>) {
    this.#url = url;
    this.#onNetworkError = onNetworkError;
  }

  /** The JSON of the response, with exact integers; undefined if it has no body. */
  async call<Result = undefined>(method: Method, path: string, body?: unknown): Promise<Result> {
    const { status, bytes } = await this.#send(method, path, body).catch(async (error) => {
      throw await this.#onNetworkError(error);
    });
    if (status < 400) return (bytes.length === 0 ? undefined : parseExact(bytes.toString())) as Result;
    throw new SandboxControlError(
      messageOf(bytes) ?? `${method} ${path} failed with status ${status}`,
      status,
    );
  }

  async #send(method: Method, path: string, body: unknown): Promise<{ status: number; bytes: Buffer }> {
    const text = body === undefined ? undefined : stringifyExact(body);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(`${this.#url}${path}`, {
        method,
        // A connection that is kept open would keep the test runner waiting.
        agent: false,
        headers:
          text === undefined
            ? {}
            : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) },
      })
        .once("response", resolve)
        .once("error", reject)
        .end(text);
    });
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    return { status: response.statusCode ?? 0, bytes: Buffer.concat(chunks) };
  }
}

/** The message of an error response. */
function messageOf(bytes: Buffer): string | undefined {
  try {
    const { message } = JSON.parse(bytes.toString());
    return typeof message === "string" ? message : undefined;
  } catch {
    // Not a response of the control interface.
    return undefined;
  }
}
