// Gives a request the id by which its response, its log line and its trace are found.

/** Ids that are accepted from clients: without spaces, quotes and control characters. */
const wellFormedId = /^[\w.~:+/=@-]{1,128}$/;

/** W3C Trace Context, section 3.2: version, trace id, parent id, flags; ids are not all zeros. */
const wellFormedTraceparent =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/;

/** The id of the trace that a traceparent names; undefined if it is malformed. */
export function traceIdOf(traceparent: string | null): string | undefined {
  return traceparent === null ? undefined : wellFormedTraceparent.exec(traceparent)?.[1];
}

/** The client's X-Request-Id, or the id of its trace, if well-formed; otherwise a new one. */
export function requestIdOf(sent: string | null, traceId: string | undefined, make: () => string): string {
  return sent !== null && wellFormedId.test(sent) ? sent : (traceId ?? make());
}

/** Makes ids of a prefix and a number. */
export function requestIdMaker(): () => string {
  const prefix = crypto.randomUUID().slice(0, 8);
  let requests = 0;
  return () => `${prefix}-${(++requests).toString(36)}`;
}
