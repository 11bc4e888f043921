// A map that forgets its oldest entry when it is full.

export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    super();
    this.#entriesMax = entriesMax;
  }

  /** Makes the entry the newest, also if the map had its key. */
  override set(key: Key, value: Value): this {
    this.delete(key);
    if (this.size === this.#entriesMax) this.delete(this.keys().next().value as Key);
    return super.set(key, value);
  }
}
