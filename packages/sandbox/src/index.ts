// The public interface of `plantstore/sandbox`.

// AsyncDisposable, for programs whose "lib" does not have it.
/// <reference lib="esnext.disposable" preserve="true" />

export type {
  AnyId,
  Clock,
  Delay,
  ErrorCode,
  ForcedRule,
  Match,
  NewToken,
  Outcome,
  RecordedMessage,
  RecordedRequest,
  RecordedResponse,
  RequestsOptions,
  Rule,
  SeedPlant,
  Snapshot,
  StoredPlant,
  StoredRule,
  TextCondition,
} from "./control-types.ts";
export { SandboxControlError, SandboxEndedError, SandboxError, SandboxStartError } from "./errors.ts";
export type { Sandbox, SandboxClock } from "./sandbox.ts";
export { type SandboxOptions, startSandbox } from "./start.ts";
