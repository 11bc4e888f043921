// Members that no property names, and that additionalProperties or patternProperties describe: they are
// kept like others, in the order and with the digits in which they were sent.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { contractFile, sandboxOf, sandboxOfThings } from "../../support/contract-sandbox.ts";
import { contractServer } from "../../support/contract-server.ts";
import { accepts, objectOf, readThings } from "../../support/descriptions.ts";
import { engines } from "../../support/engines.ts";
import type { Answer } from "../../support/http.ts";
import { TemporaryFolder } from "../../support/server.ts";

const file = "labels.yaml";
const sent = '{"10":"b", "name":"a", "x-9":1.50, "é":"c", "2":"d", "deep":{"secret":"s","by":"b","z":1e400}}';
const shown = '"name":"a","10":"b","x-9":1.50,"é":"c","2":"d","deep":{"z":1e400}';

type Request = (method: string, at: string, body?: string) => Promise<Answer>;

function holds(request: Request): void {
  const create = async (body = sent) => {
    const { status, text } = await request("POST", "/labels", body);
    const id = /^\{"id":(\d+)/.exec(text)?.[1] as string;
    return { status, text: text.replace(`"id":${id},`, ""), id };
  };

  test("are in the response, the list and the GET", async () => {
    const { status, text, id } = await create();
    expect([status, text]).toEqual([201, `{${shown}}`]);
    const whole = `{"id":${id},${shown}}`;
    expect((await request("GET", `/labels/${id}`)).text).toBe(whole);
    expect((await request("GET", "/labels")).text).toContain(whole);
  });

  test("are replaced, merged and removed", async () => {
    const { id } = await create();
    const change = async (method: string, body: string) =>
      (await request(method, `/labels/${id}`, body)).text.replace(`"id":${id},`, "");
    expect(await change("PATCH", '{"x-9":null,"é":"e","new":"n"}')).toBe(
      '{"name":"a","2":"d","10":"b","é":"e","deep":{"z":1e400},"new":"n"}',
    );
    expect(await change("PATCH", '{"name":"c","none":null}')).toContain('{"name":"c","2":"d"');
    expect(await change("PUT", '{"y":"1","name":"b"}')).toBe('{"name":"b","y":"1"}');
    expect(await change("PATCH", '{"y":null}')).toBe('{"name":"b"}');
    expect((await request("PATCH", `/labels/${id}`, '{"y":"too long"}')).status).toBe(400);
  });

  test("are checked, and of several with one name the last counts", async () => {
    for (const wrong of ['{"name":"a","x-1":"1"}', '{"name":"a","b":"too long"}', '{"name":"a","b":1}'])
      expect((await create(wrong)).status).toBe(400);
    expect((await create('{"b":"1","name":"a","b":"2"}')).text).toBe('{"name":"a","b":"2"}');
    expect((await create('{"name":"a"}')).text).toBe('{"name":"a"}');
  });
}

for (const engine of engines)
  describe(`${engine.name}: members that no property names`, () => {
    const context = contractServer(engine, file);
    const { request, command } = context;
    holds(request);

    test("are exported, imported and in the history", async () => {
      using folder = new TemporaryFolder();
      const { text } = await request("POST", "/labels", sent);
      const id = /\d+/.exec(text)?.[0] as string;
      const stored = `{"id":${id},"name":"a","10":"b","x-9":1.50,"é":"c","2":"d","deep":{"secret":"s","z":1e400}}`;
      for (const format of ["ndjson", "csv"]) {
        const { stdout } = await command("export", "--format", format);
        const own = stdout.split("\n").find((line) => line.includes(id)) as string;
        if (format === "ndjson") expect(own).toBe(stored);
        const header = format === "csv" ? "id,name,additionalProperties\n" : "";
        writeFileSync(folder.file(`a.${format}`), `${header}${own.replaceAll(id, `${id}1`.slice(-17))}\n`);
        await command("import", folder.file(`a.${format}`));
        expect((await command("get", `${id}1`.slice(-17))).stdout).toContain('"10":"b","x-9":1.50,"é":"c"');
        await command("delete", `${id}1`.slice(-17), "--yes");
      }
      const wrong = `id,name,additionalProperties\n3,a,"{""b"":1}"\n4,a,[]\n5,a,"{""name"":""b""}"\n`;
      writeFileSync(folder.file("wrong.csv"), wrong);
      expect((await command("import", folder.file("wrong.csv"))).stderr).toContain("3 rejected");
      await request("PATCH", `/labels/${id}`, '{"10":null}');
      expect((await command("history", id, "--json")).stdout).toContain(
        '\\"10\\":\\"b\\"'.replaceAll("\\", ""),
      );
    });
  });

describe("a sandbox", () => {
  let sandbox: Awaited<ReturnType<typeof sandboxOf>>;
  beforeAll(async () => {
    sandbox = await sandboxOf(contractFile(file));
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());
  holds((...request) => sandbox.request(...request));
});

test("those of patternProperties alone are kept, and unknown ones are not", async () => {
  const body = {
    ...objectOf({ id: { type: "integer" }, additionalProperties: { type: "string" } }, ["id"]),
    patternProperties: { "^x": { type: "integer" } },
  };
  await using store = await sandboxOfThings({ body });
  const sent = '{"id":1,"x1":1,"y":2,"additionalProperties":"a"}';
  expect((await store.request("POST", "/things", sent)).text).toBe(
    '{"id":1,"additionalProperties":"a","x1":1}',
  );
  // Without a word about others they are ignored, as they always were.
  for (const additionalProperties of [undefined, true, {}]) {
    const plain = await readThings({
      body: { ...objectOf({ id: { type: "integer" } }, ["id"]), additionalProperties },
    });
    expect([plain.fields, accepts(plain, '{"id":1,"y":2}')]).toEqual([[], true]);
  }
});
