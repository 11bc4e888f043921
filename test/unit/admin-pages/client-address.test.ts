// The address of a client behind trusted proxies, and with forged headers.

import { expect, test } from "bun:test";
import { parseAddressRange, TrustedProxies, toClientKey } from "../../../src/admin-pages/client-address.ts";
import { expectProcessorMs } from "../../support/processes.ts";

const proxies = new TrustedProxies(["127.0.0.1", "10.0.0.0/8", "2001:db8:ffff::/48", "::1"]);

function clientAddress(headers: Record<string, string>, peer = "10.0.0.1"): string {
  return proxies.clientAddress(new Request("http://localhost/", { headers }), peer);
}

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["192.0.2.9, 192.0.2.1, 10.1.2.3, 2001:db8:ffff:1::5", "192.0.2.1"],
  ["[2001:db8::1]:443", "2001:db8::1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["192.0.2.9, ::ffff:10.0.0.7", "192.0.2.9"],
  // The client's own address is in a trusted range.
  ["10.9.9.9, 10.8.8.8", "10.9.9.9"],
  ["nonsense, 192.0.2.1", "192.0.2.1"],
  ["192.0.2.1, nonsense", "10.0.0.1"],
  ["", "10.0.0.1"],
  ["[2001:db8::1", "10.0.0.1"],
])("X-Forwarded-For: %p is %s", (value, address) => {
  expect(clientAddress({ "X-Forwarded-For": value })).toBe(address);
});

test("headers of a peer that is not a trusted proxy are ignored, and all headers are optional", () => {
  const forged = { "X-Forwarded-For": "192.0.2.1" };
  expect(clientAddress(forged, "198.51.100.7")).toBe("198.51.100.7");
  expect(clientAddress(forged, "2001:db8::7")).toBe("2001:db8::7");
  expect(clientAddress(forged, "")).toBe("");
  expect(clientAddress(forged, "::ffff:10.0.0.1")).toBe("192.0.2.1");
  expect(clientAddress(forged, "::1")).toBe("192.0.2.1");
  expect(clientAddress({}, "::ffff:10.0.0.1")).toBe("10.0.0.1");
  const none = new TrustedProxies([]);
  expect(none.clientAddress(new Request("http://x/", { headers: forged }), "127.0.0.1")).toBe("127.0.0.1");
});

test("a field of 64 KiB is parsed in a tenth of a second", () => {
  const values = [`${"10.0.0.1,".repeat(7_200)}192.0.2.1`];
  for (const start of ["", '"', "["])
    for (const filling of [" ", "1", ":"]) values.push(`${start}${filling.repeat(65_000)}"`);
  for (const value of values) expectProcessorMs(100, () => clientAddress({ "X-Forwarded-For": value }));
  expect(clientAddress({ "X-Forwarded-For": values[0] ?? "" })).toBe("192.0.2.1");
});

test("a client is an IPv4 address or an IPv6 /64", () => {
  expect(toClientKey("192.0.2.1")).toBe("192.0.2.1");
  expect(toClientKey("2001:db8:1:2:3:4:5:6")).toBe(toClientKey("2001:db8:1:2::"));
  expect(toClientKey("2001:db8::7:1")).toBe(toClientKey("2001:DB8:0:0:1::"));
  expect(toClientKey("2001:db8::1")).not.toBe(toClientKey("2001:db8:0:1::1"));
  expect(toClientKey("")).toBe("");
});

test("a range is an address, optionally with a prefix length, and never every address", () => {
  const rangeOf = (text: string) => parseAddressRange(text)?.join("/");
  expect(rangeOf("10.0.0.0/8")).toBe("10.0.0.0/8");
  expect(rangeOf("fd00::/8")).toBe("fd00::/8");
  expect(rangeOf("::1")).toBe("::1/128");
  expect(rangeOf("::ffff:10.0.0.0/104")).toBe("10.0.0.0/8");
  for (const text of [
    "",
    "10.0.0.0/0",
    "::/0",
    "10.0.0.0/33",
    "proxy.example",
    "::ffff:10.0.0.0/96",
    "[::1]",
  ])
    expect([text, parseAddressRange(text)]).toEqual([text, undefined]);
});
