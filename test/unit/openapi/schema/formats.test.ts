// The formats that are checked: values that each accepts, and values that it does not.

import { expect, test } from "bun:test";
import { numberFormat, textFormat } from "../../../../src/openapi/schema/formats.ts";

const texts: Readonly<Record<string, readonly [accepted: readonly string[], refused: readonly string[]]>> = {
  "date-time": [
    ["2024-02-29T23:59:60Z", "2024-03-01T00:59:60.5+01:00", "2026-11-24t12:00:00z"],
    // A leap second is the last one of a day in UTC.
    ["2026-02-29T00:00:00Z", "2026-11-24T12:00:00", "2024-02-29T12:30:60Z", "2024-02-29T23:59:60+01:00"],
  ],
  date: [["2024-02-29"], ["2023-02-29", "2026-13-01", "2026-11-24T"]],
  time: [
    ["12:00:00Z", "18:29:60.25-05:30", "23:59:60z"],
    ["12:00:00", "24:00:00Z", "12:00Z", "23:59:60.25-05:30", "12:00:60Z"],
  ],
  duration: [
    ["P1Y", "PT1S", "P3DT12H", "P2W"],
    ["P", "PT", "P1S", "1Y", "P1W1D"],
  ],
  uuid: [["0196B5F4-2c1a-7c3e-9f52-5d3a1c7e8b90"], ["0196b5f4", "0196b5f42c1a7c3e9f525d3a1c7e8b90"]],
  guid: [["0196B5F4-2c1a-7c3e-9f52-5d3a1c7e8b90"], ["x"]],
  email: [
    ["a.b+c@example.com"],
    ["a..b@example.com", "a@", `${"a".repeat(65)}@example.com`, `a@${"b.".repeat(126)}c`],
  ],
  uri: [
    ["https://example.com/a?b#c", "urn:isbn:1", "a:%41"],
    ["/a", "a:%4", "http://", "a: b"],
  ],
  "uri-reference": [
    ["", "/a?b#c", "b:c", "a/b:c", "?a:b"],
    ["1:b", "%4", "a b"],
  ],
  ipv4: [["192.0.2.1"], ["192.0.2.256", "192.0.02.1", "::1"]],
  ipv6: [
    ["::1", "2001:db8::1"],
    ["1.2.3.4", "fe80::1%eth0", ":::"],
  ],
  hostname: [
    ["a", "example.com", "xn--bcher-kva.example"],
    ["", "-a", "a-", "a..b", `${"a".repeat(64)}.b`, "a_b", `${"a.".repeat(127)}a`],
  ],
  byte: [
    ["", "cGxhbnQ=", "YQ=="],
    ["YQ", "YQ=", "Y===", "Y-=="],
  ],
  regex: [["^[a-z]+$"], ["(", "[b-a]"]],
  "json-pointer": [
    ["", "/", "/a~0b/~1"],
    ["a", "/~", "/~2"],
  ],
};

test("formats of texts accept their values only", () => {
  for (const [name, [accepted, refused]] of Object.entries(texts)) {
    const format = textFormat(name);
    const values = [...accepted, ...refused, format?.example ?? ""];
    expect([name, values.filter((value) => format?.accepts(value))]).toEqual([
      name,
      [...accepted, format?.example ?? ""],
    ]);
  }
  expect(textFormat("toString")).toBeUndefined();
});

test("formats of numbers have their ranges", () => {
  const ranges = ["int8", "uint8", "int32", "uint32", "int64", "uint64"].map((name) => {
    const { minimum, maximum } = numberFormat(name) ?? {};
    return `${name}: ${minimum} to ${maximum}`;
  });
  expect(ranges).toEqual([
    "int8: -128 to 127",
    "uint8: 0 to 255",
    "int32: -2147483648 to 2147483647",
    "uint32: 0 to 4294967295",
    "int64: -9223372036854775808 to 9223372036854775807",
    "uint64: 0 to 18446744073709551615",
  ]);
  expect(numberFormat("int128")).toBeUndefined();
});
