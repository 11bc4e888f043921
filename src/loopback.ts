// Which hosts are this machine, so that nothing sent to them can be read or changed on its way.

/** Whether a host, an IPv6 address without brackets, is a loopback one. */
export function isLoopback(host: string): boolean {
  return /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/.test(host);
}
