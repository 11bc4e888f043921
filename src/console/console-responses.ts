// Responses of the console: JSON and downloads, and the error for requests that are not valid.

import { AdminError, respond } from "../admin-pages/admin-responses.ts";

type Headers = Readonly<Record<string, string>>;

/** JSON with bigints as strings: a number in JavaScript is not exact past 2^53. */
export function respondJson(value: unknown, headers: Headers = {}): Response {
  const text = JSON.stringify(value, (_, field) => (typeof field === "bigint" ? String(field) : field));
  return respond(text, 200, { "Content-Type": "application/json", ...headers });
}

/** A request that is not valid. The message is a sentence. */
export class BadRequestError extends AdminError {
  constructor(message: string) {
    super(400, message);
  }
}
