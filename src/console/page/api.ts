// Sends requests to the console's API.

import { collectionParameters } from "./shown-contract.ts";

/** The result of a call as JSON carries it: a bigint becomes a string. */
export type Answer<Call extends (...input: never) => unknown> = Json<Awaited<ReturnType<Call>>>;

type Json<Value> = Value extends bigint
  ? string
  : Value extends object
    ? { [Key in keyof Value]: Json<Value[Key]> }
    : Value;

/** An error response, or no response at all. The message is a sentence for the operator. */
export class RequestError extends Error {
  /** 0 if there was no response. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Parameters = Record<string, string> | [name: string, value: string][];

export function get<Result>(path: string, parameters: Parameters = {}): Promise<Result> {
  return send(apiUrl(path, parameters), {});
}

export function post<Result>(path: string, body: Record<string, string>): Promise<Result> {
  return send(apiUrl(path, {}), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

/**
 * Sends a file of any size, and reports how much of it is sent, which fetch cannot.
 */
export function postFile<Result>(
  path: string,
  parameters: Record<string, string>,
  file: File,
  onProgress: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Result> {
  const stored = "What it has created is stored; import the file again to continue.";
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", apiUrl(path, parameters));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.responseType = "json";
    request.upload.onprogress = ({ loaded }) => onProgress(loaded);
    request.onload = () => {
      const { status, response } = request;
      if (status === 200 && response !== null) resolve(response);
      else reject(new RequestError(status, response?.message ?? `The import was interrupted. ${stored}`));
    };
    request.onerror = () =>
      reject(new RequestError(0, `The server or the file cannot be read any more. ${stored}`));
    request.onabort = () => reject(new RequestError(0, `The import was stopped. ${stored}`));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}

/**
 * A call to the control of a sandbox. Returns null for a response without a body.
 *
 * @param path such as /reset, below the path of control.
 */
export function control<Result>(method: "GET" | "POST" | "DELETE", path: string): Promise<Result> {
  return send(`api/sandbox${path}`, { method });
}

/** Lets the browser download a response to its folder, without holding it in memory. */
export function download(url: string, name = "") {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

/** The address of a call about the collection in view. */
export function apiUrl(path: string, parameters: Parameters) {
  const query = new URLSearchParams([
    ...new URLSearchParams(parameters),
    ...collectionParameters(),
  ]).toString();
  return `api/${path}${query === "" ? "" : `?${query}`}`;
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function send(url: string, init: RequestInit) {
  const response = await fetch(url, init).catch(() => {
    throw new RequestError(0, "The server is unreachable.");
  });
  if (response.status === 204) return null;
  const json = await response.json().catch(() => {
    throw new RequestError(response.status, "The server's response is not valid JSON.");
  });
  if (!response.ok) throw new RequestError(response.status, json.message);
  return json;
}
