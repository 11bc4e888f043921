// What the page asks of the server.

/** A refusal, or a server that cannot be reached: the message is for the operator. */
export class Refused extends Error {
  /**
   * @param {number} status 0 where there was no answer.
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
export function read(path, parameters = {}) {
  return ask(addressOf(path, parameters), {});
}

/**
 * @param {string} path
 * @param {Record<string, string>} body
 * @returns {Promise<any>}
 */
export function write(path, body) {
  return ask(addressOf(path, {}), {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Plantstore-Console": "1" },
    body: JSON.stringify(body),
  });
}

/**
 * @param {string} path
 * @param {Record<string, string>} parameters
 */
export function addressOf(path, parameters) {
  const query = new URLSearchParams(parameters).toString();
  return `api/${path}${query === "" ? "" : `?${query}`}`;
}

/**
 * @param {unknown} error
 * @returns {string} a sentence for the operator.
 */
export function sentenceOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * @param {string} address
 * @param {RequestInit} init
 */
async function ask(address, init) {
  const response = await fetch(address, init).catch(() => {
    throw new Refused(0, "The server cannot be reached.");
  });
  const answer = await response.json().catch(() => {
    throw new Refused(response.status, "The server's answer cannot be read.");
  });
  if (!response.ok) throw new Refused(response.status, answer.message);
  return answer;
}
