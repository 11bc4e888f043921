// Exports the public interface of `plantstore/sandbox`.

// AsyncDisposable, for programs whose "lib" does not have it.
/// <reference lib="esnext.disposable" preserve="true" />

export type {
  AnyId,
  Clock,
  ErrorCode,
  Match,
  NewToken,
  Outcome,
  RecordedMessage,
  RecordedRequest,
  Rule,
  Sent,
  StoredPlant,
  StoredRule,
  TextCondition,
} from "./control-types.ts";
export type { RequestsOptions, Sandbox } from "./running-sandbox.ts";
export type { ForcedRule, SandboxCollection } from "./sandbox-collection.ts";
export { SandboxControlError, SandboxEndedError, SandboxError, SandboxStartError } from "./sandbox-errors.ts";
export { type SandboxOptions, startSandbox } from "./start.ts";
