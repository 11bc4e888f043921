// Finds the address of a client: the peer of its connection or, if that is a trusted proxy, the
// address in the proxy's X-Forwarded-For field.

import type { IPv4, IPv6 } from "ipaddr.js";

type Address = IPv4 | IPv6;

// Loaded on first use: most servers have neither a proxy nor a password.
const ipaddr = () => require("ipaddr.js") as typeof import("ipaddr.js");

/** A network address and the length of its prefix. */
type AddressRange = [Address, number];

/** Undefined if the text is not an address or range. A prefix of 0 would trust every client. */
export function parseAddressRange(text: string): AddressRange | undefined {
  const [, written = "", bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = parseAddress(written);
  if (address === undefined) return undefined;
  const bitsMax = address.kind() === "ipv4" ? 32 : 128;
  const isMapped = bitsMax === 32 && written.includes(":");
  const prefix = bits === undefined ? bitsMax : Number(bits) - (isMapped ? 96 : 0);
  return prefix >= 1 && prefix <= bitsMax ? [address, prefix] : undefined;
}

/** IPv4-mapped IPv6 is IPv4, and the zone is dropped. Undefined for other texts. */
function parseAddress(text: string): Address | undefined {
  const library = ipaddr();
  const [address = ""] = text.split("%", 1);
  const isValid = library.IPv6.isValid(address) || library.IPv4.isValidFourPartDecimal(address);
  return isValid ? library.process(address) : undefined;
}

/** An IPv4 address, or the /64 of an IPv6 address, which usually belongs to one client. */
export function toClientKey(text: string): string {
  const address = parseAddress(text);
  if (address === undefined) return text;
  return "parts" in address ? `${address.parts.slice(0, 4).join(":")}::/64` : address.toString();
}

export class TrustedProxies {
  readonly #ranges: readonly AddressRange[];

  /** @param ranges in the syntax of `parseAddressRange`. Throws a RangeError for any other. */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map((text) => {
      const range = parseAddressRange(text);
      if (range === undefined) throw new RangeError(`${text} is not an address range`);
      return range;
    });
  }

  /**
   * The rightmost address that does not belong to a trusted proxy: proxies append, so that anything
   * a client has forged is further left. A field that is malformed is ignored.
   *
   * @param peer the address at the other end of the connection.
   */
  clientAddress({ headers }: Request, peer: string): string {
    if (this.#ranges.length === 0) return peer;
    const address = parseAddress(peer);
    if (address === undefined) return peer;
    const forwarded = headers.get("x-forwarded-for");
    if (forwarded === null || !this.#isTrusted(address)) return address.toString();
    return this.#client(forwarded.split(",")) ?? address.toString();
  }

  /** The rightmost node that is not trusted; the leftmost if all are. */
  #client(nodes: readonly string[]): string | undefined {
    let client: Address | undefined;
    for (const node of nodes.toReversed()) {
      client = parseNode(node.trim());
      if (client === undefined || !this.#isTrusted(client)) break;
    }
    return client?.toString();
  }

  #isTrusted(address: Address): boolean {
    return ipaddr().subnetMatch(address, { trusted: [...this.#ranges] }, "other") === "trusted";
  }
}

/** The address of a node, which may have a port; undefined for any other text. */
function parseNode(node: string): Address | undefined {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\w+)?$/.exec(node) ?? [];
  return parseAddress(bracketed ?? plain ?? node);
}
