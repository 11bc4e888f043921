// Requests to the console's API.

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
 * @returns {Promise<any>}
 */
export function post(path, body) {
  return send(apiUrl(path, {}), {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Plantstore-Console": "1" },
    body: JSON.stringify(body),
  });
}

/**
 * @param {string} path
 * @param {Record<string, string>} parameters
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
async function send(url, init) {
  const response = await fetch(url, init).catch(() => {
    throw new RequestError(0, "The server is unreachable.");
  });
  const json = await response.json().catch(() => {
    throw new RequestError(response.status, "The server's response is not valid JSON.");
  });
  if (!response.ok) throw new RequestError(response.status, json.message);
  return json;
}
