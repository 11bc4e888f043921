// Requests to the console's API.

import { parseExactJson } from "./exact-json.js";

/** An error response, or no response at all. The message is a sentence for the operator. */
export class RequestError extends Error {
  /**
   * @param {number} status 0 if there was no response.
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Aborts the requests of a session when it ends: their responses would be errors. */
let session = new AbortController();

export function abortRequests() {
  session.abort();
  session = new AbortController();
}

/**
 * @param {string} path
 * @param {Record<string, string>} [parameters]
 * @returns {Promise<any>}
 */
export function get(path, parameters = {}) {
  return send(apiUrl(path, parameters), {});
}

/**
 * @param {string} path
 * @param {Record<string, string>} body
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 */
export function post(path, body, init = {}) {
  return send(apiUrl(path, {}), {
    ...init,
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Plantstore-Console": "1" },
    body: JSON.stringify(body),
  });
}

/**
 * Sends bytes, such as a part of a file.
 *
 * @param {string} path
 * @param {Record<string, string>} parameters
 * @param {Blob} bytes
 * @returns {Promise<any>}
 */
export function postBytes(path, parameters, bytes) {
  return send(apiUrl(path, parameters), {
    method: "POST",
    headers: { "Content-Type": "application/octet-stream", "X-Plantstore-Console": "1" },
    body: bytes,
  });
}

/**
 * A call to the control of a sandbox. Returns null for a response without a body.
 *
 * @param {"GET" | "PUT" | "POST" | "DELETE"} method
 * @param {string} path below that of control, such as /clock.
 * @param {string} [body] JSON.
 * @returns {Promise<any>}
 */
export function control(method, path, body) {
  const init = {
    method,
    ...(body !== undefined && { headers: { "Content-Type": "application/json" }, body }),
  };
  return send(controlUrl(path), init, parseExactJson);
}

/**
 * The exact bytes of a message that a sandbox has recorded.
 *
 * @param {string} path
 * @returns {Promise<Uint8Array>}
 */
export async function controlBytes(path) {
  const response = await sendRequest(controlUrl(path), {});
  if (!response.ok) throw new RequestError(response.status, (await response.json()).message);
  return new Uint8Array(await response.arrayBuffer());
}

/** @param {string} path */
export function controlUrl(path) {
  return `api/sandbox${path}`;
}

/**
 * Lets the browser download a response to its folder, without holding it in memory.
 *
 * @param {string} url
 */
export function download(url) {
  const link = document.createElement("a");
  link.href = url;
  link.download = "";
  document.body.append(link);
  link.click();
  link.remove();
}

/**
 * @param {string} path
 * @param {Record<string, string> | string[][]} parameters
 */
export function apiUrl(path, parameters) {
  const query = new URLSearchParams(parameters).toString();
  return `api/${path}${query === "" ? "" : `?${query}`}`;
}

/**
 * @param {unknown} error
 * @returns {string}
 */
export function errorMessage(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * @param {string} url
 * @param {RequestInit} init
 */
function sendRequest(url, init) {
  return fetch(url, { ...init, signal: session.signal }).catch(() => {
    throw new RequestError(0, "The server is unreachable.");
  });
}

/**
 * @param {string} url
 * @param {RequestInit} init
 * @param {(text: string) => any} [parse]
 */
async function send(url, init, parse = JSON.parse) {
  const response = await sendRequest(url, init);
  if (response.status === 204) return null;
  const json = await response
    .text()
    .then((text) => parse(text))
    .catch(() => {
      throw new RequestError(response.status, "The server's response is not valid JSON.");
    });
  if (!response.ok) throw new RequestError(response.status, json.message);
  return json;
}
