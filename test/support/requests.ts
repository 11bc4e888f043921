// The log of requests of a sandbox, as control returns it.

import type { RunningSandbox } from "./sandbox.ts";

export interface LoggedRequest {
  readonly number: number;
  readonly connection: number;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly request: {
    readonly method: string | null;
    readonly target: string | null;
    readonly version: string | null;
    readonly headers: readonly (readonly [string, string])[];
    readonly body: string | null;
    readonly bodyBase64?: string;
    readonly bytes: number;
    readonly isTruncated?: boolean;
  };
  readonly response: {
    readonly status: number | null;
    readonly headers: readonly (readonly [string, string])[];
    readonly body: string | null;
    readonly bytes: number;
    readonly isTruncated?: boolean;
  } | null;
  readonly error: number | null;
  readonly forced: { readonly rule?: string; readonly prefer?: string } | null;
  readonly ended: string;
}

interface Page {
  readonly requests: readonly LoggedRequest[];
  readonly next: number;
  readonly dropped: number;
}

/** One page of the log. */
export async function requestPage(sandbox: RunningSandbox, query = ""): Promise<Page> {
  const { text } = await sandbox.control("GET", `/requests${query}`);
  return JSON.parse(text) as Page;
}

/** The requests of the log, once there are some number of them. */
export async function loggedRequests(
  sandbox: RunningSandbox,
  count: number,
): Promise<readonly LoggedRequest[]> {
  const requests: LoggedRequest[] = [];
  while (requests.length < count) {
    const after = requests.at(-1)?.number ?? 0;
    requests.push(...(await requestPage(sandbox, `?after=${after}&limit=1000&wait=10`)).requests);
  }
  return requests;
}

/** The bytes of a message of the log; none if there is no such message. */
export async function loggedBytes(
  { controlUrl }: RunningSandbox,
  number: number,
  kind: "request" | "response",
): Promise<Buffer> {
  const response = await fetch(`${controlUrl}/requests/${number}/${kind}`);
  return response.status === 404 ? Buffer.alloc(0) : Buffer.from(await response.arrayBuffer());
}
