// Calls to another thread: made here, answered there, in their order.

import { OperatorError } from "../../operator-error.ts";

declare const self: Worker;

/** The calls that a thread answers, by name. */
export type Calls<Names> = { [Name in keyof Names]: (...args: never[]) => unknown };

interface CallRequest {
  readonly call: string;
  readonly args: readonly unknown[];
}

/** A call that is not answered yet. */
interface PendingCall {
  readonly request: CallRequest;
  readonly reply: PromiseWithResolvers<unknown>;
}

type CallReply =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "failure"; readonly message: string; readonly isOperatorError: boolean };

/** A thread that answers calls. */
export class WorkerClient<Names extends Calls<Names>> {
  readonly #worker: Worker;
  /** The first one is with the thread, the others wait here: what waits there cannot be taken back. */
  readonly #pending: PendingCall[] = [];
  #failure: Error | undefined;

  constructor(url: URL) {
    this.#worker = new Worker(url.href);
    this.#worker.onmessage = ({ data }: MessageEvent<CallReply>) => {
      const reply = this.#pending.shift()?.reply;
      if (data.kind === "result") reply?.resolve(data.result);
      else reply?.reject(data.isOperatorError ? new OperatorError(data.message) : new Error(data.message));
      this.#sendFirst();
    };
    this.#worker.onerror = ({ message }) => {
      // A thread that died took its answers along: nobody may wait for them.
      this.#failure = new Error(`A thread failed: ${message.replace(/\s+/g, " ")}`);
      for (const { reply } of this.#pending.splice(0)) reply.reject(this.#failure);
    };
  }

  call<Name extends keyof Names & string>(
    call: Name,
    ...args: Parameters<Names[Name]>
  ): Promise<Awaited<ReturnType<Names[Name]>>> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const reply = Promise.withResolvers<unknown>();
    this.#pending.push({ request: { call, args }, reply });
    if (this.#pending.length === 1) this.#sendFirst();
    return reply.promise as Promise<Awaited<ReturnType<Names[Name]>>>;
  }

  /** Rejects the calls that have not begun yet. */
  rejectWaiting(reason: Error): void {
    for (const { reply } of this.#pending.splice(1)) reply.reject(reason);
  }

  /** Not before what it holds is closed: terminating a thread that holds SQLite has crashed Bun. */
  terminate(): void {
    this.#worker.terminate();
  }

  #sendFirst(): void {
    const [first] = this.#pending;
    if (first !== undefined) this.#worker.postMessage(first.request);
  }
}

/** Answers calls, in the thread that they are made to. `translate` gives an error the form that the caller shall see. */
export function serveCalls<Names extends Calls<Names>>(
  answers: { [Name in keyof Names]: (...args: Parameters<Names[Name]>) => Promise<ReturnType<Names[Name]>> },
  translate: (error: unknown) => unknown,
): void {
  let last: Promise<void> = Promise.resolve();
  self.onmessage = ({ data }: MessageEvent<CallRequest>) => {
    // One after the other, so that the replies are in the order of the calls.
    last = last.then(() => answer(data));
  };

  async function answer({ call, args }: CallRequest): Promise<void> {
    try {
      const answerOne = answers[call as keyof Names] as (...args: readonly unknown[]) => Promise<unknown>;
      reply({ kind: "result", result: await answerOne(...args) });
    } catch (thrown) {
      const error = translate(thrown);
      const message = error instanceof Error ? error.message : String(error);
      reply({ kind: "failure", message, isOperatorError: error instanceof OperatorError });
    }
  }
}

function reply(message: CallReply): void {
  self.postMessage(message);
}
