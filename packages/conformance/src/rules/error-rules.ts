// Checks errors: each cause has its status, its code, and a body that says what was wrong.

import type { ErrorCode } from "../../../../src/base/errors.ts";
import type { Field } from "../../../../src/contract/contract.ts";
import { isText } from "../../../../src/contract/stored-types.ts";
import { type Contents, newId } from "../requests/contents.ts";
import {
  errorShapeOf,
  expectError,
  expectErrorBody,
  expectHeader,
  expectJsonType,
  expectThat,
  parseObject,
} from "../requests/expectations.ts";
import type { RuleContext } from "../requests/rule-context.ts";
import { RuleSkipped } from "../wire/rule-ends.ts";
import { ofEveryResponse } from "./every-response.ts";
import {
  byDecision,
  type ConformanceRule,
  decision,
  openapi,
  placesIn,
  rfc,
  rulesOf,
  unfitReasons,
} from "./rule.ts";

const orderOfChecks = decision("Order of checks");

function invalidJson(contents: Contents): Readonly<Record<string, string>> {
  const plant = contents.plantTitled('"Monstera"');
  return {
    "an empty body": "",
    "a missing value": contents.plantTitled(""),
    "a body cut short": contents.plantTitled('"Monst').slice(0, -1),
    ...(contents.sendsIds && {
      "a leading zero": contents.plantTitled('"Monstera"', `0${newId}`),
      "a plus sign": contents.plantTitled('"Monstera"', `+${newId}`),
    }),
    "text after the body": `${plant} x`,
    "single quotes": `{'id':${newId},'name':'Monstera'}`,
    "a comma at the end": contents.plantTitled('"Monstera",'),
    "a comment": plant.replace(contents.named, (members) => `/* */${members}`),
    "a raw line feed in a string": contents.plantTitled('"a\nb"'),
    "an unknown escape": contents.plantTitled('"\\x41"'),
    ...(contents.sendsIds && { NaN: contents.plantTitled('"Monstera"', "NaN") }),
    "a lone continuation byte": contents.plantTitled('"\x80"'),
    "Latin-1": contents.plantTitled('"caf\xe9"'),
    "a surrogate": contents.plantTitled('"\xed\xa0\x80"'),
    "an encoding that is longer than necessary": contents.plantTitled('"\xc0\xaf"'),
    "UTF-16": "\xff\xfe{\0}\0",
  };
}

/** Sends bodies whose characters are bytes. */
function expectCodes(
  check: RuleContext,
  bodies: Readonly<Record<string, string>>,
  code: ErrorCode,
): Promise<void> {
  // New ids: a server that accepts a body once would reject its repetition as a conflict.
  return check.cases(bodies, (body) =>
    check.expectRejected(Buffer.from(check.withNewId(body), "latin1"), code),
  );
}

export function errorRules(contents: Contents): readonly ConformanceRule[] {
  const { access, collection, title, group, named } = contents;
  const { path } = collection;
  const serverIds = !contents.sendsIds && unfitReasons.serverIds;
  const noToken = access.isOpen && unfitReasons.noToken;
  const { responses } = placesIn(contents);
  const errorOf = (code: ErrorCode) => contents.errorOf(code);
  const escapedTexts = ["Monst\\u0000era", "\\ud800", "🌱\\udc00", "\\udc00\\ud800"];
  const takes = (field: Field | undefined) => (text: string) =>
    field !== undefined && isText(field.type) && field.type.parse(JSON.parse(`"${text}"`)) !== undefined;
  const titleTexts = escapedTexts.filter(takes(title));
  const groupTexts = escapedTexts.filter(takes(group));
  return rulesOf(contents, "errors", {
    "body-members": {
      title:
        "The body of every error is JSON with the members of the contract's errors; a code is its status times 100 plus a detail.",
      required: byDecision(responses),
      ...ofEveryResponse(
        ({ status }) => status >= 400,
        (response) => {
          const { error, message } = expectErrorBody(contents, response);
          expectThat(message !== "", "expected a message, received an empty string");
          const { contentType, members: described } = errorShapeOf(contents, response);
          expectJsonType(response, contentType);
          const members = Object.keys(parseObject(response));
          const expected = described.length === 2 ? "two members" : `${described.length} members`;
          expectThat(
            members.length === described.length,
            `expected ${expected}, received ${members.join(", ")}`,
          );
          expectThat(
            error === undefined || Math.trunc(error / 100) === response.status,
            `expected an error from ${response.status}00 to ${response.status}99, received ${error}`,
          );
        },
      ),
    },
    "invalid-json": {
      title: `A body that is not JSON in UTF-8 gets ${errorOf("invalidJson")}.`,
      required: byDecision(responses, rfc(8259, "2"), rfc(8259, "8.1"), rfc(3629, "3")),
      run: (check) => {
        const levels = check.longLength;
        const nested = { "open brackets": "[".repeat(levels), "open braces": '{"a":'.repeat(levels / 5) };
        return expectCodes(check, { ...invalidJson(contents), ...nested }, "invalidJson");
      },
    },
    "unstorable-text": {
      unfit: titleTexts.length + groupTexts.length === 0 && unfitReasons.limitedTexts,
      title: `U+0000 or an unpaired surrogate in a text gets ${errorOf("unstorableText")}.`,
      required: byDecision(decision("`name`, `tag`")),
      run: async (check) => {
        const all = [
          ...titleTexts.map((text) => `${named}"${text}"`),
          ...groupTexts.map((text) =>
            [contents.titled("Monstera"), ...contents.grouped(`"${text}"`)].join(","),
          ),
        ];
        for (const members of all)
          await check.case(members, () =>
            check.expectRejected(contents.body(contents.idMembers(check.id()), members), "unstorableText"),
          );
      },
    },
    conflict: {
      unfit: serverIds,
      title: `The message of ${errorOf("conflict")} names the id, exact to the last digit.`,
      required: byDecision(decision("The same id with different content"), responses),
      run: async (check) => {
        const [, id] = check.idGroup();
        await check.expectPlant(id, "Monstera");
        const { message } = await check.expectRejected(contents.plantJson(id, "Ficus"), "conflict");
        expectThat(
          message.includes(String(contents.idOfNumber(id))),
          `expected the id in the message: ${JSON.stringify(message)}`,
        );
      },
    },
    token: {
      unfit: noToken,
      title: `No token gets ${errorOf("missingToken")}, an unknown one ${errorOf("invalidToken")}, and a bearer token the challenge of RFC 6750.`,
      required: byDecision(
        decision("No `Authorization`, or another scheme"),
        decision("Unknown, revoked, expired or malformed token"),
        rfc(6750, "3.1"),
        rfc(9110, "11.6.1"),
      ),
      run: (check) =>
        check.cases({ "no token": null, "an unknown token": "unknown" }, async (token) => {
          const response = await check.create(check.plant(), contents.credentials(token));
          expectError(contents, response, token === null ? "missingToken" : "invalidToken");
          if (!access.bearer) return;
          const challenge = expectHeader(response, "WWW-Authenticate", /^Bearer\b/i);
          expectThat(
            token === null ? !/\berror=/i.test(challenge) : /\berror="invalid_token"/i.test(challenge),
            `expected ${token === null ? "no error" : 'error="invalid_token"'} in WWW-Authenticate, received ${challenge}`,
          );
        }),
    },
    "unknown-path": {
      title: `With a token, an unknown path gets ${errorOf("notFound")}.`,
      required: byDecision(responses, orderOfChecks),
      run: async (check) => {
        // Not /plants/1: a server may offer more operations than this one.
        const other = path === path.toUpperCase() ? path.toLowerCase() : path.toUpperCase();
        const plain = path.replace(/\/$/, "");
        const paths = [plain.slice(0, -1), `${plain}/`, other, `${plain}%2f`, `${plain};x`].filter(
          (each) => each !== path,
        );
        await check.each(paths, async (path) =>
          expectError(contents, await check.send({ path, body: check.plant() }), "notFound"),
        );
      },
    },
    "other-method": {
      title: `A method that is not offered gets ${errorOf("methodNotAllowed")}, and an Allow with POST.`,
      required: byDecision(responses, rfc(9110, "15.5.6")),
      // Neither PUT nor DELETE: a service that has more operations may lose its plants.
      run: (check) =>
        check.each(["GET", "PATCH"], async (method) => {
          const body = method === "GET" ? {} : { body: check.plant() };
          const response = await check.send({ method, ...body });
          if (response.status < 300) throw new RuleSkipped(`the server offers ${method}`);
          expectError(contents, response, "methodNotAllowed");
          const allow = expectHeader(response, "Allow", /\bPOST\b/);
          expectThat(!allow.split(/[\s,]+/).includes(method), `expected an Allow without ${method}`);
        }),
    },
    "media-type": {
      title: `A Content-Type that is missing or not application/json in UTF-8 gets ${errorOf("unsupportedMediaType")}.`,
      required: byDecision(responses, rfc(9110, "15.5.16")),
      run: async (check) => {
        const contentTypes = [
          null,
          "text/plain",
          "application/x-www-form-urlencoded",
          "application/json; charset=iso-8859-1",
          "application/jsonp",
          "application/problem+json",
          "nonsense",
        ];
        await check.each(contentTypes, async (contentType) => {
          const response = await check.create(check.plant(), { "Content-Type": contentType });
          expectError(contents, response, "unsupportedMediaType");
        });
      },
    },
    "too-large": {
      title: `A body over the limit, 1 MiB by default, gets ${errorOf("contentTooLarge")}.`,
      required: byDecision(responses, rfc(9110, "15.5.14")),
      run: (check) =>
        check.expectRejected(check.plantOfLength(check.target.bodyBytesMax + 1).body, "contentTooLarge"),
    },
    "no-store": {
      title: "Every error has Cache-Control: no-store.",
      required: byDecision(openapi("components.headers.Cache-Control"), rfc(9111, "5.2.2.5")),
      ...ofEveryResponse(
        ({ status }) => status >= 400,
        (response) => expectHeader(response, "Cache-Control", /\bno-store\b/i),
      ),
    },
    "retry-after": {
      title: "429 and 503 are errors of the contract, and have Retry-After.",
      required: byDecision(responses, rfc(6585, "4")),
      every: {
        concerns: ({ status }) => status === 429 || status === 503,
        expect: (response) => {
          expectError(contents, response, response.status === 429 ? "tooManyRequests" : "unavailable");
          expectHeader(response, "Retry-After", /^\d+$/);
        },
      },
      run: async () => undefined,
    },
  });
}
