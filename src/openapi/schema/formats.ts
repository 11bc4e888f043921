// Checks the formats of texts and numbers. None takes more than linear time.

const timeOfDay = String.raw`((?:[01]\d|2[0-3]):[0-5]\d):([0-5]\d|60)(?:\.\d+)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)`;
/** RFC 3339, section 5.6. The offset is required. */
const timePattern = new RegExp(`^${timeOfDay}$`, "i");
const dateTimePattern = new RegExp(String.raw`^(\d{4}-\d\d-\d\d)T${timeOfDay}$`, "i");
const datePattern = /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;

function isDate(value: string): boolean {
  const [, year, month, day] = datePattern.exec(value) ?? [];
  return day !== undefined && Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
}

/** Whether the second of a time may be: a leap second is the last one of a day in UTC (RFC 3339, section 5.7). */
function isTime([time = "", second, offset = "Z"]: readonly (string | undefined)[]): boolean {
  if (second !== "60") return second !== undefined;
  const minutesOf = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
  const shift = offset.length === 1 ? 0 : Number(`${offset[0]}${minutesOf(offset.slice(1))}`);
  return (minutesOf(time) - shift + 1) % (24 * 60) === 0;
}

function isPercentEncoded(value: string): boolean {
  return !/%(?![\da-f]{2})/i.test(value);
}

interface TextFormat {
  readonly expected: string;
  readonly example: string;
  accepts(value: string): boolean;
}

/** A format that a pattern describes. */
function matching(expected: string, example: string, pattern: RegExp): TextFormat {
  return { expected, example, accepts: (value) => pattern.test(value) };
}

const uuid = matching(
  "a UUID",
  "0196b5f4-2c1a-7c3e-9f52-5d3a1c7e8b90",
  /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i,
);

/** The formats of texts that are checked, by name. */
const textFormats: Readonly<Record<string, TextFormat>> = {
  "date-time": {
    expected: "a date and time such as 2026-11-24T12:00:00Z",
    example: "2026-11-24T12:00:00Z",
    accepts(value) {
      const [, date = "", ...time] = dateTimePattern.exec(value) ?? [];
      return isDate(date) && isTime(time);
    },
  },
  date: { expected: "a date such as 2026-11-24", example: "2026-11-24", accepts: isDate },
  time: {
    expected: "a time such as 12:00:00Z",
    example: "12:00:00Z",
    accepts: (value) => isTime((timePattern.exec(value) ?? []).slice(1)),
  },
  duration: matching(
    "a duration such as P3DT12H",
    "P3DT12H",
    /^P(?!$)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/,
  ),
  uuid,
  guid: uuid,
  email: {
    expected: "an email address",
    example: "someone@example.com",
    // RFC 5321: 254 characters at most.
    accepts: (value) =>
      value.length <= 254 &&
      /^[^\s@"(),:;<>[\\\]]{1,64}@[^\s@.]+(?:\.[^\s@.]+)*$/.test(value) &&
      !/^\.|\.@|\.\./.test(value),
  },
  uri: {
    expected: "a URI such as https://example.com/",
    example: "https://example.com/",
    // RFC 3986, section 2: these characters, and percent-encoded ones.
    accepts: (value) =>
      /^[a-z][a-z\d+.-]*:[\w\-.~:/?#[\]@!$&'()*+,;=%]*$/i.test(value) &&
      isPercentEncoded(value) &&
      (!/^https?:/i.test(value) || URL.canParse(value)),
  },
  "uri-reference": {
    expected: "a reference to a URI, such as /plants?limit=10",
    example: "/plants?limit=10",
    accepts: (value) =>
      /^(?:[a-z][a-z\d+.-]*:|(?![^/?#]*:))[\w\-.~:/?#[\]@!$&'()*+,;=%]*$/i.test(value) &&
      isPercentEncoded(value),
  },
  ipv4: matching("an IPv4 address", "192.0.2.1", /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/),
  ipv6: {
    expected: "an IPv6 address",
    example: "2001:db8::1",
    // node:net takes 6 ms of each start to load.
    accepts: (value) => /^[\da-f:.]{2,45}$/i.test(value) && URL.canParse(`http://[${value}]/`),
  },
  hostname: {
    expected: "the name of a host",
    example: "example.com",
    // RFC 1123: 253 characters at most.
    accepts: (value) =>
      value.length <= 253 &&
      /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/i.test(value),
  },
  byte: {
    expected: "a string in base64",
    example: "cGxhbnQ=",
    accepts: (value) => value.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/.test(value),
  },
  regex: {
    expected: "a regular expression of ECMA 262",
    example: "^[a-z]+$",
    // It is not matched with anything, so that it takes linear time.
    accepts(value) {
      try {
        return new RegExp(value, "u") !== undefined;
      } catch {
        return false;
      }
    },
  },
  "json-pointer": {
    expected: "a JSON pointer such as /a/0",
    example: "/a/0",
    accepts: (value) => (value === "" || value.startsWith("/")) && !/~(?![01])/.test(value),
  },
};

/** How a text with a format looks; undefined if the format is not checked. */
export function textFormat(name: unknown): TextFormat | undefined {
  return typeof name === "string" && Object.hasOwn(textFormats, name) ? textFormats[name] : undefined;
}

/** The range of numbers with a format; undefined if it is not one of numbers. */
export function numberFormat(name: unknown) {
  const [, unsigned, size] = /^(u?)int(8|16|32|64)$/.exec(String(name)) ?? [];
  if (size !== undefined) {
    const bits = BigInt(size);
    const half = 2n ** (bits - 1n);
    return unsigned === "u"
      ? { isInteger: true, minimum: 0, maximum: 2n * half - 1n }
      : { isInteger: true, minimum: -half, maximum: half - 1n };
  }
  const most = name === "double" ? Number.MAX_VALUE : 2 ** 128 - 2 ** 104;
  return name === "double" || name === "float"
    ? { isInteger: false, minimum: -most, maximum: most }
    : undefined;
}

/** Whether a format says only how a value is shown or sent. */
export function isFreeFormat(name: unknown): boolean {
  return name === "password" || name === "binary";
}
