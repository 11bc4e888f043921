// What a setting is.

export interface Setting<Value> {
  /** As commander reads it: the long flag and its argument. */
  readonly flag: string;
  readonly environment: string;
  readonly fallback?: NoInfer<Value>;
  readonly meaning: string;
  /** Throws an InvalidArgumentError that says what would be right. */
  readonly read: (text: string) => Value;
}

/** One entry of a table of settings. */
export function setting<Value>(entry: Setting<Value>): Setting<Value> {
  return entry;
}
