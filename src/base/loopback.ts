// Recognizes hosts and URLs whose traffic does not leave the machine, or nobody on the way can
// read.

/** Whether a host is a loopback address or localhost. An IPv6 address is given without brackets. */
export function isLoopback(host: string): boolean {
  return /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/.test(host);
}

/** Whether a response cannot be read or changed on the way: https, or http on loopback. */
export function isConfidential(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(host));
}
