// Which address a request comes from: the other end of its connection or, where that is a trusted proxy, the client that
// the proxy names in Forwarded (RFC 7239) or X-Forwarded-For.

import { BlockList, isIP } from "node:net";

/** An address or a range of addresses, such as 10.0.0.0/8. */
interface AddressRange {
  readonly address: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

/** Undefined if the text is neither an address nor a range; nor is one that holds all addresses: every client is in it. */
export function parseAddressRange(text: string): AddressRange | undefined {
  const [, written = "", bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = canonicalAddress(written);
  if (address === undefined) return undefined;
  const family = familyOf(address);
  const isMapped = family === "ipv4" && written.includes(":");
  const prefixMax = family === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? prefixMax : Number(bits) - (isMapped ? 96 : 0);
  return prefix >= 1 && prefix <= prefixMax ? { address, prefix, family } : undefined;
}

/** One text for one address: IPv4-mapped IPv6 as IPv4, IPv6 compressed and without its zone. Undefined if it is no address. */
function canonicalAddress(text: string): string | undefined {
  const address = text.replace(/%.*$/s, "");
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : undefined;
  const hostname = URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) ?? "";
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return hostname;
  return [high, low]
    .map((hextet) => Number.parseInt(hextet, 16))
    .flatMap((hextet) => [hextet >> 8, hextet & 255])
    .join(".");
}

/** The /64 of an IPv6 address, which one client has to itself; of IPv4 the address. Of anything else the text. */
export function clientOf(address: string): string {
  const canonical = canonicalAddress(address);
  if (canonical === undefined || familyOf(canonical) === "ipv4") return address;
  return `${hextetsOf(canonical).slice(0, 4).join(":")}::/64`;
}

/** What one holder is likely to have: a /48 of IPv6, a /24 of IPv4. */
export function networkOf(address: string): string {
  const canonical = canonicalAddress(address);
  if (canonical === undefined) return address;
  if (familyOf(canonical) === "ipv4") return `${canonical.replace(/\.\d+$/, ".0")}/24`;
  return `${hextetsOf(canonical).slice(0, 3).join(":")}::/48`;
}

export class TrustedProxies {
  readonly #ranges = new BlockList();

  /** @param ranges each as parseAddressRange reads it. */
  constructor(ranges: readonly string[]) {
    for (const text of ranges) {
      const range = parseAddressRange(text);
      if (range === undefined) throw new RangeError(`${text} is not a range of addresses`);
      this.#ranges.addSubnet(range.address, range.prefix, range.family);
    }
  }

  /**
   * The address of the client. What a client itself writes into these headers stands to the left of what its proxy adds,
   * so the rightmost address that is not a trusted proxy's counts. Headers that are malformed, name no address, or disagree
   * count for nothing: most proxies set one of the two and pass the other on as it came.
   *
   * @param peer the other end of the connection.
   */
  clientAddress({ headers }: Request, peer: string): string {
    const own = canonicalAddress(peer) ?? peer;
    if (!this.#isTrusted(own)) return own;
    const forwarded = headers.get("forwarded");
    const forwardedFor = headers.get("x-forwarded-for");
    const named = [
      ...(forwarded === null ? [] : [this.#client(parseForwarded(forwarded))]),
      ...(forwardedFor === null ? [] : [this.#client(forwardedFor.split(","))]),
    ];
    const [first] = named;
    return first !== undefined && named.every((one) => one === first) ? first : own;
  }

  /** The rightmost of the nodes that is not trusted, or else the leftmost. */
  #client(nodes: readonly string[]): string | undefined {
    let client: string | undefined;
    for (const node of nodes.toReversed()) {
      client = addressOfNode(node.trim());
      if (client === undefined || !this.#isTrusted(client)) break;
    }
    return client;
  }

  #isTrusted(address: string): boolean {
    return isIP(address) !== 0 && this.#ranges.check(address, familyOf(address));
  }
}

/** The `for` of each element of a Forwarded header, empty where an element has none; nothing if any of it is malformed. */
function parseForwarded(text: string): string[] {
  const pair =
    /[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;=]+)))?[ \t]*(?:([,;])|$)/y;
  const nodes: string[] = [];
  let node = "";
  while (pair.lastIndex < text.length) {
    const [matched, name, quoted, bare, separator] = pair.exec(text) ?? [];
    if (matched === undefined) return [];
    if (name?.toLowerCase() === "for") node = quoted?.replace(/\\(.)/g, "$1") ?? bare ?? "";
    if (separator === ";" && pair.lastIndex < text.length) continue;
    nodes.push(node);
    node = "";
  }
  return nodes;
}

/** The address of a node, with or without a port; undefined for `unknown`, for an obfuscated identifier and for garbage. */
function addressOfNode(node: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\w+)?$/.exec(node) ?? [];
  return canonicalAddress(bracketed ?? plain ?? node);
}

/** @param address in its canonical form. */
function familyOf(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}

/** The eight parts of an IPv6 address in its canonical form. */
function hextetsOf(address: string): string[] {
  const [head = "", tail] = address.split("::").map((part) => (part === "" ? [] : part.split(":"))) as [
    string[],
    string[]?,
  ];
  if (tail === undefined) return [...head];
  return [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
}
