// Recognizes hosts and URLs whose traffic does not leave the machine, or nobody on the way can
// read, and IPv6 addresses.

/** Whether a host is a loopback address or localhost. An IPv6 address is given without brackets. */
export function isLoopback(host: string): boolean {
  return /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/.test(host);
}

/**
 * Whether the Host of a request is an address, localhost or one of the names. With DNS rebinding, a
 * page of another site points its own name at this machine, but it cannot send a Host other than
 * that name.
 */
export function isOwnHost({ headers }: Request, names: readonly string[]): boolean {
  const name = (headers.get("host") ?? "").replace(/:\d*$/, "").toLowerCase();
  const isAddress = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/.test(name);
  return isAddress || name === "localhost" || names.includes(name);
}

/** Whether a response cannot be read or changed on the way: https, or http on loopback. */
export function isConfidential(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(host));
}

/** Whether a text is an IPv6 address, with or without a zone: loading node:net would slow each start. */
export function isIpv6(text: string): boolean {
  const [, address] = /^([\da-f:.]+)(?:%[\w.-]+)?$/i.exec(text) ?? [];
  return address !== undefined && URL.canParse(`http://[${address}]/`);
}
