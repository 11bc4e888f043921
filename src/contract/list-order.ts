// Reads the order that a client asks a list for, such as "name,-price" or "price:desc".

/** A value that lists are sorted by: of a field, by its index, of the id, or a time of the store's. */
export type ListKey = number | "id" | "created" | "updated";

/** How a client asks for an order. */
export interface ListSort {
  /** The parameter of the query with the properties. */
  readonly name: string;
  /** The parameter with their direction; undefined for none. */
  readonly direction: string | undefined;
  /** The properties that a list may be sorted by, by their names. */
  readonly keys: ReadonlyMap<string, ListKey>;
  /** The keys that the description names: each has an index. */
  readonly named: readonly ListKey[];
  /** The values where the parameters are not sent. */
  readonly default: string | undefined;
  readonly defaultDirection: string | undefined;
  /** The values that a request may have; undefined for any that can be read. */
  readonly values: readonly string[] | undefined;
  /** The parameters among them that are not served. */
  readonly refused: readonly string[];
  readonly isRequired: boolean;
}

export interface OrderTerm {
  readonly key: ListKey;
  readonly isDescending: boolean;
}

/** Properties of one order. */
const termsMax = 8;

/** A name in lower case, without what separates words: an API may write it in several ways. */
export const plainName = (name: string) => name.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();

const directions: Readonly<Record<string, boolean>> = {
  ...{ asc: false, ascending: false, "1": false },
  ...{ desc: true, descending: true, "-1": true },
};

/** Whether a text says "descending"; undefined if it is no direction. */
export function isDescending(text: string): boolean | undefined {
  return directions[text.trim().toLowerCase()];
}

/**
 * The order of a text; undefined if it has another property, or none.
 *
 * @param direction of the properties that have none of their own: one for all, or one for each.
 */
export function parseOrder(
  text: string,
  keys: ListSort["keys"],
  direction?: string,
): readonly OrderTerm[] | undefined {
  const found = (name: string) =>
    keys.get(name) ?? [...keys].find(([own]) => plainName(own) === plainName(name))?.[1];
  const terms: { readonly key: ListKey; isDescending: boolean | undefined }[] = [];
  for (const token of text.split(",").map((each) => each.trim())) {
    const [, sign = "", name = ""] = /^([+-]?)(.*)$/s.exec(token) ?? [];
    const [, stem = "", word = ""] = /^(.+?)[\s:._|-]*((?:a|de)sc(?:ending)?)$/is.exec(name) ?? [];
    const key = found(name) ?? found(stem);
    const last = terms.at(-1);
    if (key !== undefined && plainName(name) !== "") {
      const own = found(name) === undefined ? isDescending(word) : undefined;
      terms.push({ key, isDescending: sign === "-" ? own !== true : own });
    } else if (last?.isDescending === undefined && last !== undefined && isDescending(token) !== undefined)
      last.isDescending = isDescending(token);
    else return undefined;
  }
  const given = direction?.split(",").map(isDescending) ?? [];
  if (terms.length > termsMax) return undefined;
  return terms.map((term, index) => ({
    key: term.key,
    isDescending: term.isDescending ?? given[index] ?? given.at(-1) ?? false,
  }));
}
