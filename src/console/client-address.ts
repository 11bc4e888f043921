// The address of a client: the peer of its connection or, if that is a trusted proxy, the address in the proxy's Forwarded
// (RFC 7239) or X-Forwarded-For field.

import type { BlockList } from "node:net";

/** An address or a range of addresses, such as 10.0.0.0/8. */
interface AddressRange {
  readonly address: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

/** Loaded on first use, as it takes 6 ms of processor time. */
function net(): typeof import("node:net") {
  return process.getBuiltinModule("node:net");
}

function isIP(text: string): number {
  return net().isIP(text);
}

/** Undefined if the text is not an address or range. A prefix of 0 is rejected, as it would trust every client. */
export function parseAddressRange(text: string): AddressRange | undefined {
  const [, written = "", bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = canonicalAddress(written);
  if (address === undefined) return undefined;
  const family = getFamily(address);
  const isMapped = family === "ipv4" && written.includes(":");
  const prefixMax = family === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? prefixMax : Number(bits) - (isMapped ? 96 : 0);
  return prefix >= 1 && prefix <= prefixMax ? { address, prefix, family } : undefined;
}

/** The canonical text of an address: IPv4-mapped IPv6 as IPv4, IPv6 compressed and without its zone. */
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

/** An IPv4 address, or the /64 of an IPv6 address, which usually belongs to one client. Other texts are returned unchanged. */
export function toClientKey(address: string): string {
  const canonical = canonicalAddress(address);
  if (canonical === undefined || getFamily(canonical) === "ipv4") return address;
  return `${splitHextets(canonical).slice(0, 4).join(":")}::/64`;
}

/** The /24 of an IPv4 address, or the /48 of an IPv6 address. Other texts are returned unchanged. */
export function toNetwork(address: string): string {
  const canonical = canonicalAddress(address);
  if (canonical === undefined) return address;
  if (getFamily(canonical) === "ipv4") return `${canonical.replace(/\.\d+$/, ".0")}/24`;
  return `${splitHextets(canonical).slice(0, 3).join(":")}::/48`;
}

export class TrustedProxies {
  readonly #ranges: BlockList | undefined;

  /** @param ranges in the syntax of `parseAddressRange`. Throws a RangeError for any other. */
  constructor(ranges: readonly string[]) {
    if (ranges.length === 0) return;
    this.#ranges = new (net().BlockList)();
    for (const text of ranges) {
      const range = parseAddressRange(text);
      if (range === undefined) throw new RangeError(`${text} is not an address range`);
      this.#ranges.addSubnet(range.address, range.prefix, range.family);
    }
  }

  /**
   * The rightmost address that does not belong to a trusted proxy: proxies append, so that anything a client has forged is
   * further left. Fields that are malformed, have no address, or disagree are ignored, as most proxies set one of the two
   * and forward the other unchanged.
   *
   * @param peer the address at the other end of the connection.
   */
  clientAddress({ headers }: Request, peer: string): string {
    const own = canonicalAddress(peer) ?? peer;
    if (!this.#isTrusted(own)) return own;
    const forwarded = headers.get("forwarded");
    const forwardedFor = headers.get("x-forwarded-for");
    const clients = [
      ...(forwarded === null ? [] : [this.#client(parseForwarded(forwarded))]),
      ...(forwardedFor === null ? [] : [this.#client(forwardedFor.split(","))]),
    ];
    const [first] = clients;
    return first !== undefined && clients.every((one) => one === first) ? first : own;
  }

  /** The rightmost node that is not trusted; the leftmost if all are. */
  #client(nodes: readonly string[]): string | undefined {
    let client: string | undefined;
    for (const node of nodes.toReversed()) {
      client = parseNode(node.trim());
      if (client === undefined || !this.#isTrusted(client)) break;
    }
    return client;
  }

  #isTrusted(address: string): boolean {
    if (this.#ranges === undefined) return false;
    return isIP(address) !== 0 && this.#ranges.check(address, getFamily(address));
  }
}

/** The `for` parameter of each element of a Forwarded field, "" if an element has none; [] if the field is malformed. */
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

/** The address of a node (RFC 7239, section 6), with or without a port; undefined for `unknown`, an obfuscated or invalid node. */
function parseNode(node: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\w+)?$/.exec(node) ?? [];
  return canonicalAddress(bracketed ?? plain ?? node);
}

/** @param address canonical. */
function getFamily(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}

/** The eight hextets of a canonical IPv6 address. */
function splitHextets(address: string): string[] {
  const [head = "", tail] = address.split("::").map((part) => (part === "" ? [] : part.split(":"))) as [
    string[],
    string[]?,
  ];
  if (tail === undefined) return [...head];
  return [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
}
