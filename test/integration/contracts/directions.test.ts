// What is writeOnly is never sent to clients, and what is readOnly never taken from them, at any
// depth: in `serve` on every engine, and in a sandbox.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { contractFile, sandboxOf } from "../../support/contract-sandbox.ts";
import { contractServer } from "../../support/contract-server.ts";
import { readSingle } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import type { Answer } from "../../support/http.ts";

const file = "accounts.yaml";

/** A body with everything, in an order of its own, and with digits that a double does not hold. */
const sent = `{
  "rank": 1, "code": "c", "name": "Ada",
  "login": {"role": "admin", "limits": {"pin": "1", "daily": 1.50}, "user": "ada", "password": "p"},
  "devices": [{"secret": "s", "name": "phone", "serial": "x"}, {"name": "lamp"}],
  "pair": [{"name": "one", "secret": "s"}, {"secret": "no secret"}],
  "keys": {"9": {"name": "a", "secret": "s"}, "1": {"name": "b"}},
  "tree": {"hint": "h", "label": "}\\"", "depth": 1, "below": [{"below": [{"label": "c", "hint": "h"}], "hint": "h"}]},
  "channel": {"secret": "s", "kind": "mail"}
}`;
const shown =
  '"name":"Ada","login":{"limits":{"daily":1.50},"user":"ada"},"devices":[{"name":"phone"},{"name":"lamp"}],' +
  '"pair":[{"name":"one"},{"secret":"no secret"}],"keys":{"9":{"name":"a"},"1":{"name":"b"}},' +
  '"tree":{"label":"}\\"","below":[{"below":[{"label":"c"}]}]},"channel":{"kind":"mail"}';

type Request = (method: string, at: string, body?: string) => Promise<Answer>;

/** @param shown what responses have after the id. */
function holds(request: Request, shown: string): void {
  const create = async (body: string) => {
    const { status, text } = await request("POST", "/accounts", body);
    expect([status, text]).toEqual([201, expect.stringMatching(/^\{"id":\d+,/)]);
    return /\d+/.exec(text)?.[0] as string;
  };

  test("a create, a list, a GET, a PUT, a PATCH and a DELETE send what is shown", async () => {
    const id = await create(sent);
    const whole = `{"id":${id},${shown}}`;
    for (const [method, body] of [["GET"], ["PUT", sent], ["PATCH", '{"login":{"password":"q","role":"x"}}']])
      expect((await request(method as string, `/accounts/${id}`, body)).text).toBe(whole);
    expect((await request("GET", "/accounts")).text).toContain(whole);
    expect((await request("DELETE", `/accounts/${id}`)).text).toBe(whole);
  });

  test("what clients cannot set is not demanded, and the rest is checked", async () => {
    const refusal = async (body: object) => {
      const { status, text } = await request("POST", "/accounts", JSON.stringify({ name: "Ada", ...body }));
      return [status, text];
    };
    const reason = (text: string) => [400, expect.stringContaining(text)];
    expect(await refusal({ login: { user: "a" } })).toEqual(reason('with the member \\"password\\"'));
    expect(await refusal({ devices: [{ name: "a", other: 1 }] })).toEqual(
      reason('without the member \\"other\\"'),
    );
    // It is dropped whatever it is.
    await create('{"name":"Ada","login":{"user":"a","password":"p","role":5}}');
  });

  test("an alternative that does not hide a member shows it", async () => {
    const { text } = await request(
      "POST",
      "/accounts",
      '{"name":"Ada","channel":{"kind":"open","secret":"s"}}',
    );
    expect(text).toContain('"channel":{"kind":"open","secret":"s"}');
  });
}

for (const engine of engines)
  describe(`${engine.name}: directions`, () => {
    const { request, command } = contractServer(engine, file);
    holds(request, shown);

    test("operators get what is stored, and an export can be imported", async () => {
      const { text } = await request("POST", "/accounts", sent);
      const id = /\d+/.exec(text)?.[0] as string;
      const { stdout } = await command("get", id);
      expect(stdout).toContain('"login":{"limits":{"pin":"1","daily":1.50},"user":"ada","password":"p"}');
      expect(stdout).toContain('"code":"c"');
      expect(stdout).not.toMatch(/role|rank|serial|depth/);
    });
  });

describe("a sandbox", () => {
  let sandbox: Awaited<ReturnType<typeof sandboxOf>>;
  beforeAll(async () => {
    sandbox = await sandboxOf(contractFile(file));
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());
  // It makes up what the response requires.
  const made = shown
    .replace('"user":"ada"', '"user":"ada","role":"string"')
    .replace(
      '{"name":"phone"},{"name":"lamp"}',
      '{"name":"phone","serial":"string"},{"name":"lamp","serial":"string"}',
    );
  holds((...request) => sandbox.request(...request), made);
});

test("a contract without such members has no filters", async () => {
  const { fields } = await readSingle({ text: await Bun.file(contractFile("members.yaml")).text() });
  expect(fields.map(({ shown }) => shown)).toEqual(fields.map(() => true));
});
