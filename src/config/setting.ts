// What a setting is.

export interface Setting<Value> {
  /** As commander reads it: the long flag and its argument. */
  readonly flag: string;
  /** Its variable, in the environment and in a configuration file. */
  readonly environment: string;
  readonly default?: NoInfer<Value>;
  readonly description: string;
  /** Whether the value is shown nowhere: not by `plantstore config`, not in a log, not in an error. */
  readonly secret?: true;
  /** Throws an InvalidArgumentError that says what would be right; of a secret it must not repeat the value. */
  parse(text: string): Value;
  /** What may be shown of a secret; nothing if left out. */
  display?(value: Value): string;
}

/** One entry of a table of settings. */
export function setting<Value>(entry: Setting<Value>): Setting<Value> {
  return entry;
}
