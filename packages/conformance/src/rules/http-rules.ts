// Checks HTTP: framing of requests and responses, connections, and header fields.

import type { Contents } from "../requests/contents.ts";
import { expectAccepted, expectClientError, expectHeader, expectThat } from "../requests/expectations.ts";
import type { RuleContext } from "../requests/rule-context.ts";
import { chunked, chunkedHeaders } from "../wire/request-parts.ts";
import { type HttpResponse, headerOf } from "../wire/response-parser.ts";
import type { Connection } from "../wire/tested-connection.ts";
import { ofEveryResponse } from "./every-response.ts";
import {
  byDecision,
  byStandard,
  decision,
  openapi,
  placesIn,
  type Rule,
  rfc,
  rulesOf,
  unfitReasons,
} from "./rule.ts";

/** A server has this long to close a connection, in milliseconds. */
const closeMsMax = 2_000;

/** In place of `Connection: close`. */
const keptOpen = { Connection: null };

/** A server may close any connection after a response that says so (RFC 9112, section 9.6). */
function saysClose(response: HttpResponse): boolean {
  return /\bclose\b/i.test(headerOf(response, "connection") ?? "");
}

/** Sends a body only after an interim or final response (RFC 9110, section 10.1.1). */
function expectContinue(check: RuleContext, spelling: string): Promise<void> {
  return check.connected(async (connection) => {
    const body = check.plant();
    const bytes = check.requestBytes({ body, headers: { Expect: spelling } });
    connection.write(bytes.subarray(0, bytes.length - body.length));
    expectThat(
      await connection.receivesWithin(closeMsMax),
      `expected 100 Continue within ${closeMsMax} ms, received nothing`,
    );
    connection.write(bytes.subarray(bytes.length - body.length));
    expectAccepted(await check.response(connection));
  });
}

async function expectClosing(connection: Connection): Promise<void> {
  expectThat(
    await connection.closesWithin(closeMsMax),
    `expected the connection to be closed within ${closeMsMax} ms`,
  );
}

/** Sends bytes that must be rejected with 400, or by closing the connection. */
async function expectBadRequest(check: RuleContext, bytes: Uint8Array): Promise<void> {
  await check.connected(async (connection) => {
    connection.write(bytes);
    const { status } = (await check.responseOrClose(connection)) ?? { status: 400 };
    expectThat(
      status === 400 || status === 501,
      `expected the request to be rejected as malformed, received the status ${status}`,
    );
  });
}

/** A create whose text is changed. */
function altered(check: RuleContext, change: (text: string) => string, headers = {}): Uint8Array {
  const text = Buffer.from(check.requestBytes({ body: check.plant(), headers })).toString("latin1");
  return Buffer.from(change(text), "latin1");
}

export function httpRules(contents: Contents): readonly Rule[] {
  const { operation } = placesIn(contents);
  return rulesOf(contents, "http", {
    "keep-alive": {
      title: "A connection stays open after any response that does not say close.",
      required: byStandard(rfc(9112, "9.3"), rfc(9112, "9.6")),
      run: (check) =>
        check.connected(async (connection) => {
          for (let index = 0; index < 13; index++) {
            const isWrong = index === 1;
            const body = isWrong ? "{}" : check.plant();
            const response = await check.exchange(connection, { body, headers: keptOpen });
            if (!isWrong) expectAccepted(response);
            if (saysClose(response)) return;
          }
        }),
    },
    "keep-alive-after-unread-body": {
      title: "After an error that precedes the body the connection closes, or the next request is answered.",
      required: byStandard(rfc(9112, "9.3"), rfc(9112, "9.6")),
      run: (check) =>
        check.connected(async (connection) => {
          await check.exchange(connection, {
            body: `{"x":"${"x".repeat(5_000)}"}`,
            headers: { ...keptOpen, ...contents.credentials(null) },
          });
          const next = await check.exchangeOrClose(connection, { body: check.plant(), headers: keptOpen });
          if (next !== undefined) expectAccepted(next);
        }),
    },
    "connection-close": {
      title: "After a request with Connection: close the server closes the connection.",
      required: byStandard(rfc(9112, "9.6")),
      run: (check) =>
        check.connected(async (connection) => {
          expectAccepted(await check.exchange(connection, { body: check.plant() }));
          await expectClosing(connection);
        }),
    },
    "chunked-request": {
      title: "A body may be sent in chunks, of any size, and with extensions.",
      required: byStandard(rfc(9112, "7"), rfc(9112, "7.1"), rfc(9112, "7.1.1")),
      run: async (check) => {
        type Form = readonly [chunks: (body: string) => string, coding?: string];
        const forms: Readonly<Record<string, Form>> = {
          "the coding in another case": [(body) => chunked([body]), "Chunked"],
          "one chunk": [(body) => chunked([body])],
          "two chunks": [(body) => chunked([body.slice(0, 10), body.slice(10)])],
          "chunks of one byte": [(body) => chunked([...body])],
          "sizes with leading zeros": [(body) => `000${chunked([body])}`],
          "an extension": [(body) => chunked([body]).replace("\r\n", ";name=value\r\n")],
        };
        await check.cases(forms, async ([form, coding = "chunked"]) => {
          const headers = { ...chunkedHeaders, "Transfer-Encoding": coding };
          expectAccepted(await check.create(form(check.plant()), headers));
        });
      },
    },
    "optional-fields": {
      title: "Accept and User-Agent are optional, and Accept may be any that allows JSON.",
      required: byStandard(rfc(9110, "12.5.1"), rfc(9110, "10.1.5")),
      run: async (check) => {
        const fields = {
          none: { Accept: null, "User-Agent": null },
          "any media type": { Accept: "*/*" },
          "several media types": { Accept: "text/html;q=0.5, application/json;q=0.9, */*;q=0.1" },
        };
        await check.cases(fields, (headers) => check.expectMonstera(headers));
      },
    },
    "expect-continue": {
      title: "Expect: 100-continue gets 100 or the final response before the body is sent.",
      required: byStandard(rfc(9110, "10.1.1")),
      run: (check) => expectContinue(check, "100-continue"),
    },
    "expect-continue-case": {
      title: "Expect is compared without regard to case: Java's HttpClient sends 100-Continue.",
      required: byStandard(rfc(9110, "10.1.1")),
      run: (check) => expectContinue(check, "100-Continue"),
    },
    "query-ignored": {
      title: "A query string does not change the operation.",
      required: byDecision(`${operation}.operationId`, rfc(3986, "3.4")),
      run: async (check) => {
        expectAccepted(
          await check.send({ path: `${contents.collection.path}?x=1&id=2`, body: check.plant() }),
        );
      },
    },
    "http-1.0": {
      title: "HTTP/1.0 is answered without chunks, and the connection closed.",
      required: byStandard(rfc(9110, "2.5"), rfc(9112, "6.1"), rfc(9112, "9.3")),
      run: (check) =>
        check.connected(async (connection) => {
          connection.write(altered(check, (text) => text.replace("HTTP/1.1", "HTTP/1.0"), keptOpen));
          const response = await check.response(connection);
          expectAccepted(response);
          expectThat(
            headerOf(response, "transfer-encoding") === undefined,
            "expected no Transfer-Encoding, which a client of HTTP/1.0 cannot read",
          );
          await expectClosing(connection);
        }),
    },
    "malformed-request": {
      title: "A malformed request gets 400, or the connection is closed.",
      required: byStandard(rfc(9112, "3"), rfc(9112, "3.2"), rfc(9112, "5.1"), rfc(9112, "6.3")),
      run: async (check) => {
        const field = (line: string) =>
          altered(check, (text) => text.replace("Accept:", `${line}\r\nAccept:`));
        const requests = {
          "no request line": Buffer.from("nonsense\r\n\r\n"),
          "no Host": check.requestBytes({ body: check.plant(), headers: { Host: null } }),
          "a space before the colon of a field": field("X-Field : value"),
          "two lengths that differ": field("Content-Length: 3"),
          "a length that is not a number": altered(check, (text) =>
            text.replace(/Content-Length: \d+/, "Content-Length: -1"),
          ),
          "a transfer coding that is not chunked": field("Transfer-Encoding: gzip"),
          "a chunk size that is not a number": check.requestBytes({
            body: "xyz\r\n",
            headers: chunkedHeaders,
          }),
        };
        await check.cases(requests, (bytes) => expectBadRequest(check, bytes));
      },
    },
    "length-and-chunks": {
      title:
        "Content-Length with Transfer-Encoding is rejected, or the connection closed after the response.",
      required: byStandard(rfc(9112, "6.1"), rfc(9112, "6.3")),
      run: (check) =>
        check.connected(async (connection) => {
          const body = chunked([check.plant()]);
          const headers = { ...keptOpen, ...chunkedHeaders, "Content-Length": "5" };
          const response = await check.exchangeOrClose(connection, { body, headers });
          if (response !== undefined && response.status !== 400) expectAccepted(response);
          expectThat(
            await connection.closesWithin(closeMsMax),
            "expected the connection to be closed: another reader may find another end of the body",
          );
        }),
    },
    "equal-lengths": {
      title: "Two Content-Length fields that are equal get 400.",
      required: byDecision(decision("Several Content-Length headers"), rfc(9112, "6.3")),
      run: (check) =>
        expectBadRequest(
          check,
          altered(check, (text) => text.replace(/(Content-Length: \d+\r\n)/, "$1$1")),
        ),
    },
    "truncated-body": {
      unfit: !contents.sendsIds && unfitReasons.serverIds,
      title: "A request whose connection ends before its body stores nothing.",
      required: byStandard(rfc(9112, "6.3"), rfc(9112, "8")),
      run: async (check) => {
        const id = check.id();
        const body = contents.plantJson(id, "truncated");
        await check.connected(async (connection) => {
          connection.write(
            check.requestBytes({ body, headers: { "Content-Length": String(body.length + 10) } }),
          );
          connection.end();
          const response = await check.responseOrClose(connection);
          if (response !== undefined) expectClientError(response);
        });
        const next = await check.create(contents.plantJson(id, "Monstera"));
        expectAccepted(next, "the plant is stored, although its body never ended");
      },
    },
    "unknown-method": {
      title: "An unknown method is rejected, or the connection closed.",
      required: byStandard(rfc(9110, "9.1"), rfc(9110, "15.6.2")),
      run: (check) =>
        check.connected(async (connection) => {
          const response = await check.exchangeOrClose(connection, { method: "BREW" });
          if (response !== undefined && response.status !== 501) expectClientError(response);
        }),
    },
    head: {
      title: "HEAD gets no body, and no server error.",
      required: byStandard(rfc(9110, "9.3.2")),
      run: (check) =>
        check.connected(async (connection) => {
          const { status } = await check.exchange(connection, { method: "HEAD" });
          expectThat(status < 500 || status === 501, `expected no server error, received ${status}`);
          await connection.closesWithin(closeMsMax);
          expectThat(!connection.hasRest, "expected no body");
        }),
    },
    "response-framing": {
      title: "Every response has a Content-Length or is sent in chunks.",
      required: byDecision(`${operation}.responses`, rfc(9112, "6.3")),
      ...ofEveryResponse(
        ({ status }, { method }) => method !== "HEAD" && status !== 204,
        (response) =>
          expectThat(
            ["content-length", "transfer-encoding"].some((name) => headerOf(response, name) !== undefined),
            "expected Content-Length or Transfer-Encoding",
          ),
      ),
    },
    date: {
      title: "Every response has a Date.",
      required: byStandard(rfc(9110, "6.6.1")),
      ...ofEveryResponse(
        // Bun has none in the response to HEAD of a path that answers GET.
        (_, { method }) => method !== "HEAD",
        (response) => {
          const date = expectHeader(response, "Date", /./);
          const isDate = new Date(date).toUTCString() === date;
          expectThat(isDate, `expected a Date such as Sun, 06 Nov 1994 08:49:37 GMT, received ${date}`);
        },
      ),
    },
    "no-store": {
      title: "Every error has Cache-Control: no-store.",
      required: byDecision(openapi("components.headers.Cache-Control"), rfc(9111, "5.2.2.5")),
      ...ofEveryResponse(
        ({ status }) => status >= 400,
        (response) => expectHeader(response, "Cache-Control", /\bno-store\b/i),
      ),
    },
  });
}
