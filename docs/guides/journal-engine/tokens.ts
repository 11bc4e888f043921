// The tokens in memory. Each method is one step of the journal: the same steps in the same order give the same tokens.

import {
  latestRevision,
  type NewToken,
  planRotation,
  type Removal,
  type Removed,
  type Rotation,
  type RotationOutcome,
  removableTokens,
  removalCandidates,
  type TokenRecord,
  type TokenRow,
  type TokenStore,
  type TokensRead,
  type TokenUse,
  toTokenRecords,
} from "../token-store.ts";

/** The methods of TokenStore, without promises. */
type Steps = {
  [Name in keyof TokenStore]: (
    ...args: Parameters<TokenStore[Name]>
  ) => Awaited<ReturnType<TokenStore[Name]>>;
};

export class Tokens implements Steps {
  readonly #rows = new Map<string, TokenRow>();
  #revision = 0n;

  add(token: NewToken): boolean {
    return this.#unrevoked(token.name).length === 0 && this.#insert(token);
  }

  addFirst(token: NewToken): boolean {
    return !this.#all().some(isShown) && this.#insert(token);
  }

  rotate(rotation: Rotation): RotationOutcome {
    const outcome = planRotation(toTokenRecords(this.#unrevoked(rotation.name)), rotation);
    if (typeof outcome === "object") this.#insert(outcome.token, rotation.overlapEndsAt);
    return outcome;
  }

  revokeByHash(hash: string): void {
    const row = this.#rows.get(hash);
    if (row !== undefined && row.revoked_at === null) this.#change({ ...row, revoked_at: row.created_at });
  }

  revoke(name: string, revokedAt: number): boolean {
    const rows = this.#unrevoked(name);
    const revision = this.#revision + 1n;
    for (const row of rows) {
      const at = Math.max(revokedAt, Number(row.created_at) + 1);
      this.#rows.set(row.hash, { ...row, revoked_at: BigInt(at), revision });
    }
    if (rows.length > 0) this.#revision = revision;
    return rows.length > 0;
  }

  recordUses(uses: readonly TokenUse[]): void {
    for (const { hash, minute } of uses) {
      const row = this.#rows.get(hash);
      if (row === undefined || Number(row.last_used_at ?? -1) >= minute) continue;
      this.#rows.set(hash, { ...row, last_used_at: BigInt(minute) });
    }
  }

  list(): TokenRecord[] {
    return toTokenRecords(this.#all());
  }

  readActive(now: number): TokensRead {
    const rows = this.#all().filter(
      ({ revoked_at, expires_at, predecessors_end_at }) =>
        revoked_at === null &&
        (expires_at === null || Number(expires_at) > now || predecessors_end_at !== null),
    );
    return { revision: Number(this.#revision), tokens: toTokenRecords(rows) };
  }

  readChanges(since: number): TokensRead {
    const latest = Number(this.#revision);
    if (latest <= since) return { revision: latest, tokens: [] };
    const hasChanged = ({ revision }: TokenRow) => Number(revision) > since;
    const names = new Set(
      this.#all()
        .filter(hasChanged)
        .map(({ name }) => name),
    );
    const rows = this.#all().filter(
      (row) => hasChanged(row) || (row.revoked_at === null && names.has(row.name)),
    );
    return { revision: latestRevision(rows, latest), tokens: toTokenRecords(rows) };
  }

  find(hashes: readonly string[]): TokenRecord[] {
    const found = hashes.map((hash) => this.#rows.get(hash)).filter((row) => row?.revoked_at === null);
    const names = new Set(found.flatMap((row) => row?.name ?? []));
    return [...names].flatMap((name) => toTokenRecords(this.#unrevoked(name)));
  }

  removeEnded({ endedBefore, afterHash, rowsMax }: Removal): Removed {
    const rows = [...this.#rows.values()]
      .filter(({ hash }) => hash > afterHash)
      .toSorted(byHash)
      .slice(0, rowsMax);
    const kept = this.#kept();
    const { revoked, names } = removalCandidates(rows, endedBefore);
    const removable = revoked.filter((hash) => !kept.has(hash));
    for (const name of names)
      removable.push(...removableTokens(toTokenRecords(this.#unrevoked(name)), endedBefore, kept));
    const removed = removable.slice(0, rowsMax);
    for (const hash of removed) this.#rows.delete(hash);
    return { count: removed.length, nextHash: rows.length < rowsMax ? undefined : rows.at(-1)?.hash };
  }

  /** See keptTokensSql of ../token-store.ts. */
  #kept(): Set<string> {
    const latestFirst = [...this.#rows.values()].toSorted((one, other) =>
      one.revision === other.revision ? byHash(other, one) : Number(other.revision) - Number(one.revision),
    );
    return new Set([latestFirst[0], latestFirst.find(isShown)].flatMap((row) => row?.hash ?? []));
  }

  /** Oldest first. */
  #all(): TokenRow[] {
    return [...this.#rows.values()].toSorted(
      (one, other) => Number(one.created_at) - Number(other.created_at) || byHash(one, other),
    );
  }

  #unrevoked(name: string): TokenRow[] {
    return this.#all().filter((row) => row.name === name && row.revoked_at === null);
  }

  #insert({ hash, name, createdAt, expiresAt }: NewToken, predecessorsEndAt?: number): true {
    this.#change({
      hash,
      name,
      created_at: BigInt(createdAt),
      expires_at: expiresAt === null ? null : BigInt(expiresAt),
      revoked_at: null,
      predecessors_end_at: predecessorsEndAt === undefined ? null : BigInt(predecessorsEndAt),
      last_used_at: null,
      revision: 0n,
    });
    return true;
  }

  #change(row: TokenRow): void {
    this.#revision++;
    this.#rows.set(row.hash, { ...row, revision: this.#revision });
  }
}

function byHash(one: TokenRow, other: TokenRow): number {
  if (one.hash === other.hash) return 0;
  return one.hash < other.hash ? -1 : 1;
}

/** Whether the token was ever shown: one that was not is revoked as of its creation. */
function isShown({ revoked_at, created_at }: TokenRow): boolean {
  return revoked_at === null || revoked_at !== created_at;
}
