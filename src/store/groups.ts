// Runs calls in groups: those that arrive while a group is under way, or in one poll of the sockets,
// form the next one, so that one query or one transaction serves many callers. Callers take turns:
// whoever makes thousands of calls waits for his own, and others for one call of each caller. Where calls
// may take long, the next turn is that of the caller who has taken the least time.

import { BoundedMap } from "../base/bounded-map.ts";
import { OperatorError } from "../base/operator-error.ts";

/** A call has waited too long for its turn, and did not run. */
export class TurnTimeout extends OperatorError {}

/** Nobody waits any more for the result of a call, which did not run. */
export class CallerGone extends DOMException {}

/**
 * So many calls do not wait for the end of the tick: while the store has them, the thread of the
 * network receives the others.
 */
const promptCalls = 32;

/** Callers whose time is remembered. */
const callersMax = 1_000;

export interface GroupLimits {
  /** Calls in one group. */
  readonly callsMax: number;
  /** Groups that are under way at the same time; 1 by default. */
  readonly groupsMax?: number;
  /** How long a call may wait until its group starts. */
  readonly waitMsMax: number;
  /** Whether turns follow from the time that callers have taken. */
  readonly isTimed?: boolean;
}

interface WaitingCall<Call, Result> {
  readonly caller: string;
  readonly call: Call;
  readonly deadline: number;
  readonly isGone: () => boolean;
  readonly response: PromiseWithResolvers<Result>;
}

/** Runs a group, and resolves with the result of each of its calls, or a promise of it. */
export type RunGroup<Call, Result> = (
  calls: readonly Call[],
) => Promise<readonly (Result | Promise<Result>)[]>;

export class Groups<Call, Result> {
  readonly #limits: GroupLimits;
  readonly #run: RunGroup<Call, Result>;
  /** The calls of each caller that has some; the next turn is that of the first caller. */
  readonly #waiting = new Map<string, WaitingCall<Call, Result>[]>();
  /** The time, in milliseconds, at which each caller that was served lately may be served again. */
  readonly #times = new BoundedMap<string, number>(callersMax);
  /** The time of the latest turn: a caller that comes anew has not saved any. */
  #time = 0;
  #underWay = 0;
  #waitingCalls = 0;
  #isScheduled = false;

  constructor(limits: GroupLimits, run: RunGroup<Call, Result>) {
    this.#limits = limits;
    this.#run = run;
  }

  /**
   * Rejects with TurnTimeout, or as the group or the result of the call does.
   *
   * @param isGone asked when it is the turn of the call, which then rejects with CallerGone.
   */
  add(caller: string, call: Call, isGone = () => false): Promise<Result> {
    const response = Promise.withResolvers<Result>();
    const waiting = { caller, call, deadline: performance.now() + this.#limits.waitMsMax, isGone, response };
    const own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, [waiting]);
    else own.push(waiting);
    this.#waitingCalls++;
    this.#startSoon();
    return response.promise;
  }

  #startSoon(): void {
    if (this.#waitingCalls >= Math.min(this.#limits.callsMax, promptCalls)) this.#start();
    else this.#scheduleStart();
  }

  #scheduleStart(): void {
    if (this.#isScheduled || this.#isFull() || this.#waitingCalls === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#start();
    });
  }

  #isFull(): boolean {
    return this.#underWay >= (this.#limits.groupsMax ?? 1);
  }

  #start(): void {
    while (!this.#isFull()) {
      const group = this.#nextGroup();
      if (group.length === 0) return;
      void this.#runGroup(group);
    }
  }

  #nextGroup(): WaitingCall<Call, Result>[] {
    const group: WaitingCall<Call, Result>[] = [];
    while (group.length < this.#limits.callsMax) {
      const next = this.#shift();
      if (next === undefined) break;
      if (performance.now() > next.deadline) next.response.reject(new TurnTimeout("the store is busy"));
      else if (next.isGone()) next.response.reject(new CallerGone());
      else group.push(next);
    }
    return group;
  }

  #shift(): WaitingCall<Call, Result> | undefined {
    const first = this.#waiting.keys().next().value;
    if (first === undefined) return undefined;
    const caller = this.#limits.isTimed ? this.#leastServed(first) : first;
    const calls = this.#waiting.get(caller) ?? [];
    const call = calls.shift();
    this.#waitingCalls--;
    // A caller who is alone stays where he is: to move him took a tenth of a group's time.
    if (calls.length > 0 && this.#waiting.size === 1) return call;
    // Moved to the end: the next turn is another caller's.
    this.#waiting.delete(caller);
    if (calls.length > 0) this.#waiting.set(caller, calls);
    return call;
  }

  /** Start-time fair queueing: a turn begins where the caller's last one has ended. */
  #leastServed(first: string): string {
    let least = first;
    for (const caller of this.#waiting.keys()) if (this.#timeOf(caller) < this.#timeOf(least)) least = caller;
    this.#time = this.#timeOf(least);
    return least;
  }

  #timeOf(caller: string): number {
    return Math.max(this.#times.get(caller) ?? 0, this.#time);
  }

  async #runGroup(group: readonly WaitingCall<Call, Result>[]): Promise<void> {
    this.#underWay++;
    const startedAt = performance.now();
    try {
      const running = Promise.try(
        this.#run,
        group.map(({ call }) => call),
      );
      // The next group starts before this one is answered.
      const results = await running.finally(() => {
        this.#underWay--;
        if (this.#limits.isTimed)
          for (const { caller } of group)
            this.#times.set(caller, this.#timeOf(caller) + performance.now() - startedAt);
        this.#startSoon();
      });
      for (const [index, { response }] of group.entries()) response.resolve(results[index] as Result);
    } catch (error) {
      for (const { response } of group) response.reject(error);
    }
  }
}

/** Calls that run in the turns of their callers, each of whom has a share of the time. */
export class Turns {
  readonly #groups: Groups<() => Promise<unknown>, unknown>;

  /**
   * @param waitMsMax how long a call may wait until it runs.
   * @param atOnceMax how many run at the same time.
   */
  constructor(waitMsMax: number, atOnceMax = 1) {
    const limits = { callsMax: 1, groupsMax: atOnceMax, waitMsMax, isTimed: true };
    this.#groups = new Groups(limits, async (calls) => Promise.all(calls.map((call) => call())));
  }

  /** Runs a call in the turn of its caller. Rejects as Groups.add does. */
  run<Result>(caller: string, run: () => Promise<Result>, isGone?: () => boolean): Promise<Result> {
    return this.#groups.add(caller, run, isGone) as Promise<Result>;
  }
}
