// Words the log line of each event. No line has tokens or fields of plants.

import type { RequestRecord, ServerEvent } from "../../base/server-event.ts";

/** The most severe first. */
export const logLevels = ["error", "warn", "info"] as const;

export type LogLevel = (typeof logLevels)[number];

/** A line of the log, whatever its format. */
export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** How lines are written. */
export interface LineFormat {
  /** @param suppressed the requests before this one that have no line. */
  request(request: Readonly<RequestRecord>, suppressed: number | undefined, time: Date): string;
  event(line: LogLine, time: Date): string;
}

/** The events with a line of their own, besides requests. */
export type LoggedEvent = Exclude<ServerEvent, { readonly kind: "requestCompleted" | "batchCommitted" }>;

const lines: {
  readonly [Kind in LoggedEvent["kind"]]: (event: Extract<LoggedEvent, { readonly kind: Kind }>) => LogLine;
} = {
  storeUnavailable: ({ reason }) =>
    line("warn", "store unavailable; creates that it cannot commit get 503", { reason }),
  storeTaskFailed: ({ reason }) =>
    line("warn", "the store failed at a task that creates do not wait for", { reason }),
  operationFailed: ({ operation, reason }) =>
    line("warn", "the store failed an operation", { operation, reason }),
  idsExhausted: ({ path }) =>
    line("warn", "no id is left; creates without one get 503", {
      reason: `all ids that the contract allows for ${path} are taken: delete some, or allow more`,
    }),
  storeWaiting: ({ waitingFor }) => line("warn", "waiting for the store", { reason: waitingFor }),
  tokenReloadFailed: ({ reason }) =>
    line("warn", "the tokens cannot be read; those that are known stay accepted", { reason }),
  traceExportFailed: ({ reason }) => line("warn", "trace export failed; the spans are lost", { reason }),
  connectionsShed: ({ open }) =>
    line("warn", "too many connections; idle ones are closed, others after their next response", {
      reason: `${open} are open`,
    }),
  jwksRefreshFailed: ({ reason }) => line("warn", "JWKS refresh failed; cached keys stay in use", { reason }),
  certificateEnds: ({ reason }) =>
    line("warn", "the certificate expires; a renewed one is read at the start", { reason }),
  contractChanged: () => line("info", "the store has another contract, which is served now", {}),
  contractRefused: ({ reason }) =>
    line("error", "the store has another contract, which this server does not serve; it stops", { reason }),
  storeFailed: ({ reason }) => line("error", "store failed, the server exits", { reason }),
  notice: ({ message, fields = {} }) => line("info", message, fields),
  internalError: ({ requestId, error }) =>
    line("error", "internal error", { requestId, ...errorFields(error) }),
};

export function lineOf(event: LoggedEvent): LogLine {
  const render = lines[event.kind] as (event: LoggedEvent) => LogLine;
  return render(event);
}

function line(level: LogLevel, message: string, fields: LogLine["fields"]): LogLine {
  return { level, message, fields };
}

/** Takes only message and stack: a database's error also has the row that it failed on. */
function errorFields(error: unknown): { error: string; stack: string | undefined } {
  return error instanceof Error
    ? { error: error.message, stack: error.stack }
    : { error: String(error), stack: undefined };
}
