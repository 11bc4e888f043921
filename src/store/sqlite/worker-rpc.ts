// Calls functions of a worker from the main thread, over postMessage. A worker serves calls in order,
// so neither a call nor its response carries a number.

import { errorMessage, OperatorError } from "../../base/operator-error.ts";
import { NotUpToDate } from "../migration/not-up-to-date.ts";
import { SqlTimeout, WrongStatement } from "../sql-connection.ts";
import { DiskFailureError } from "./disk-failure.ts";

declare const self: Worker;

/** Opens what a worker serves: objects by name, each with asynchronous methods. */
type Open = (...args: never[]) => Promise<object>;

interface CallMessage {
  readonly object: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

type WorkerMessage =
  | { readonly kind: "result"; readonly result: unknown }
  | ({ readonly kind: "error" } & SentError)
  | { readonly kind: "notification"; readonly notification: string };

/**
 * Structured clone turns every error into a plain Error: these classes are sent by name. A subclass
 * comes before its class.
 */
const errorClasses = { NotUpToDate, SqlTimeout, WrongStatement, DiskFailureError, OperatorError, Error };

/** An error as it is sent between threads. */
export interface SentError {
  readonly errorClass: keyof typeof errorClasses;
  readonly message: string;
}

interface PendingCall {
  readonly message: CallMessage;
  readonly response: PromiseWithResolvers<unknown>;
}

export interface WorkerOptions {
  /** The name of the thread, as top -H and /proc show it. */
  readonly name: string;
  readonly onNotification?: (notification: string) => void;
  /** Called after each message to the worker, which may wait elsewhere than in its event loop. */
  readonly onPosted?: () => void;
  /**
   * Methods whose calls are sent while another of them is with the worker, so that it need not wait for
   * the next one. They are short, and their promises settled when they are returned.
   */
  readonly short?: readonly string[];
  /** Called once, when the worker can serve no more calls. */
  readonly onFailed?: (error: Error) => void;
}

/** Starts a worker, which serves the objects that its function `Opening` resolves with. */
export class WorkerClient<Opening extends Open> {
  readonly #worker: Worker;
  readonly #options: WorkerOptions;
  /**
   * The objects, once they are open. Their methods run in the worker, and reject with the error
   * that was thrown there, or with the worker's failure.
   */
  readonly served: Awaited<ReturnType<Opening>>;
  /** Calls without a response, in order; the first ones are with the worker. */
  readonly #pending: PendingCall[] = [];
  #sent = 0;
  #failure: Error | undefined;

  constructor(url: URL, options: WorkerOptions) {
    this.#options = options;
    this.served = withMembers((object) =>
      withMembers(
        (method) =>
          (...args: readonly unknown[]) =>
            this.#call({ object, method, args }),
      ),
    ) as Awaited<ReturnType<Opening>>;
    this.#worker = new Worker(url.href, { name: options.name });
    this.#worker.onmessage = ({ data }: MessageEvent<WorkerMessage>) => this.#receive(data);
    this.#worker.onerror = ({ message }) =>
      this.fail(new Error(`The SQLite worker failed: ${message.replace(/\s+/g, " ")}`));
    // Has no message if the thread could not start, such as for lack of descriptors.
    this.#worker.addEventListener("close", () => this.fail(new Error("The SQLite worker ended")));
  }

  /**
   * Calls the function that opens what the worker serves. If it fails, it may be called again; the
   * caller ends the worker.
   */
  async open(...args: Parameters<Opening>): Promise<void> {
    await this.#call({ object: "worker", method: "open", args });
  }

  /** Rejects the calls that are not with the worker yet. */
  rejectQueued(reason: Error): void {
    for (const { response } of this.#pending.splice(this.#sent)) response.reject(reason);
  }

  /**
   * Ends the worker, or lets the process end without it while its database is open: Bun has crashed
   * when a worker ended before that was closed. Rejects every pending call, such as one that was made
   * while the worker closed the database, and every later one.
   */
  end(isClosed: boolean, reason = new Error("The SQLite worker has ended")): void {
    this.#refuse(reason);
    if (isClosed) this.#worker.terminate();
    else this.#worker.unref();
  }

  /** Rejects every pending call and every later one. */
  fail(error: Error): void {
    if (this.#refuse(error)) this.#options.onFailed?.(error);
  }

  /** Returns whether the worker has served calls so far. */
  #refuse(reason: Error): boolean {
    if (this.#failure !== undefined) return false;
    this.#failure = reason;
    for (const { response } of this.#pending.splice(0)) response.reject(reason);
    return true;
  }

  #call(message: CallMessage): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const response = Promise.withResolvers<unknown>();
    this.#pending.push({ message, response });
    this.#sendNext();
    return response.promise;
  }

  #receive(message: WorkerMessage): void {
    if (message.kind === "notification") {
      this.#options.onNotification?.(message.notification);
      return;
    }
    if (message.kind === "error" && message.errorClass === "DiskFailureError")
      this.fail(new DiskFailureError(message.message));
    // After a failure the responses to calls that were in flight may still arrive.
    if (this.#failure !== undefined) return;
    const response = this.#pending.shift()?.response;
    this.#sent--;
    if (message.kind === "result") response?.resolve(message.result);
    else response?.reject(toError(message));
    this.#sendNext();
  }

  #sendNext(): void {
    for (let next = this.#pending[this.#sent]; next !== undefined; next = this.#pending[this.#sent]) {
      const before = this.#pending[this.#sent - 1];
      if (before !== undefined && !this.#isFollowed(before, next)) return;
      this.#sent++;
      this.#worker.postMessage(next.message);
      this.#options.onPosted?.();
    }
  }

  /** Whether a call is sent while the one before it is with the worker. */
  #isFollowed(...calls: readonly PendingCall[]): boolean {
    return calls.every(({ message }) => this.#options.short?.includes(message.method));
  }
}

/** The calls that a worker has served. */
export interface ServedCalls {
  readonly count: number;
  /** Resolves when the next call has been served. */
  readonly next: Promise<void>;
}

/** An object that makes each member from its name. It has no `then`, which promises have. */
function withMembers(make: (name: string) => unknown): object {
  return new Proxy({}, { get: (_, name) => (name === "then" ? undefined : make(String(name))) });
}

type Methods = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

/** Serves the objects that `open` resolves with, in the worker. */
export function serveCalls(open: Open): ServedCalls {
  let next = Promise.withResolvers<void>();
  const served = { count: 0, next: next.promise };
  const objects: Record<string, Methods> = {
    worker: {
      async open(...args) {
        Object.assign(objects, await open(...(args as never[])));
      },
    },
  };
  self.onmessage = async ({ data: { object, method, args } }: MessageEvent<CallMessage>) => {
    try {
      send({ kind: "result", result: await objects[object]?.[method]?.(...args) });
    } catch (thrown) {
      send({ kind: "error", ...toSentError(thrown) });
    }
    served.count++;
    next.resolve();
    next = Promise.withResolvers<void>();
    served.next = next.promise;
  };
  return served;
}

/** Sends a message that responds to no call, from the worker. */
export function notify(notification: string): void {
  send({ kind: "notification", notification });
}

/** An error as it is sent between threads. */
export function toSentError(error: unknown): SentError {
  const found = Object.entries(errorClasses).find(([, errorClass]) => error instanceof errorClass);
  return { errorClass: (found?.[0] ?? "Error") as SentError["errorClass"], message: errorMessage(error) };
}

/** Restores the sent error with its class. */
export function toError({ errorClass, message }: SentError): Error {
  return new errorClasses[errorClass](message);
}

function send(message: WorkerMessage): void {
  self.postMessage(message);
}
