// The rules of other contracts than the Plant Store's: a server of each keeps them, and breaks them
// with a bug.

import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { describeContractRules } from "../../support/contract-rules.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { runCommand, TemporaryFolder } from "../../support/server.ts";
import type { Bug } from "./buggy-server.ts";
import { altersText, misreadText } from "./kinds-of-bugs.ts";

const parcelsFile = new URL("../../contracts/parcels.yaml", import.meta.url).pathname;

/** With ids that are limited, and with a response that has the id only. */
const readingsText = JSON.stringify({
  openapi: "3.0.3",
  info: { title: "Meters", version: "1" },
  security: [{ token: [] }],
  paths: {
    "/meter-readings": {
      post: {
        requestBody: {
          content: {
            "application/json": {
              schema: {
                type: "object",
                additionalProperties: false,
                required: ["id", "unit", "meter", "value"],
                properties: {
                  id: { type: "integer", format: "int32", minimum: 1 },
                  unit: { type: "string", enum: ["kWh", "m³"] },
                  meter: { type: "string", pattern: "^[\\w ]{1,20}$" },
                  value: { type: "number", multipleOf: 0.001, example: 1.5 },
                },
              },
            },
          },
        },
        responses: {
          "200": {
            description: "Stored.",
            content: {
              "application/json": {
                schema: { type: "object", properties: { id: { type: "integer", format: "int32" } } },
              },
            },
          },
        },
      },
    },
  },
  components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
});

const limitedIds = "the contract limits its ids";
const ofReadings = {
  "ids.limits": limitedIds,
  "ids.negative": limitedIds,
  "ids.beyond-32-bits": limitedIds,
  "ids.beyond-53-bits": limitedIds,
  "ids.notations": limitedIds,
  "ids.zero-notations": limitedIds,
  "contract.unknown-members": "the contract allows no unknown members",
  "errors.unstorable-text": "the contract has no text that takes what they send",
};

/** Bugs of a server, given a required member with a value of its type. */
const bugsOf = (member: string, value: string): Readonly<Record<string, Bug>> => ({
  "another status of success": {
    breaks: ["contract.create"],
    response(response) {
      response.start = response.start.replace(/ 20[01] /, (status) =>
        status === " 200 " ? " 201 " : " 200 ",
      );
    },
  },
  "another id in the response": altersText(["contract.create"], (text) =>
    text.replace(/"id":(\d+)\d/, '"id":$19999'),
  ),
  "a member of another type is accepted": misreadText(["contract.member-types"], (text) =>
    text.replace(new RegExp(`("${member}"):(?:5|true|\\[\\]|\\{\\})`), `$1:${value}`),
  ),
  "a required member may be missing": misreadText(
    ["contract.required-members", "errors.invalid-plant"],
    (text) => (text.includes(`"${member}"`) ? text : text.replace(/("id":\d+)/, `$1,"${member}":${value}`)),
  ),
});

const parcelBugs: Readonly<Record<string, Bug>> = {
  "a required member is not returned": altersText(["contract.plant-members"], (text) =>
    text.replace(/,?"fragile":\w+/, ""),
  ),
  "a number is rounded": altersText(["contract.create"], (text) =>
    text.replace(/"weight":[\d.]+/, '"weight":1'),
  ),
  "an optional member is forgotten when a plant is sent again": misreadText(
    ["idempotence.different-content"],
    (text) => text.replace(/,"count":\d+/, ""),
  ),
  "ids are doubles": misreadText(["ids.beyond-53-bits"], (text) =>
    text.replace(/"id":(\d{17,19})\b(?![.eE])/, (_, id) => `"id":${BigInt(Number(id))}`),
  ),
};

const ofUnits = bugsOf("unit", '"kWh"');
const ofParcels = { ...bugsOf("fragile", "true"), ...parcelBugs };
describeContractRules("parcels", { text: await Bun.file(parcelsFile).text() }, ofParcels, {});
describeContractRules("readings", { text: readingsText }, ofUnits, ofReadings);
describe("the command", () => {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(new TemporaryFolder());
  const readingsFile = folder.file("readings.json");
  writeFileSync(readingsFile, readingsText);
  const textlessFile = folder.file("textless.json");
  writeFileSync(textlessFile, readingsText.replace('"pattern":', '"maxLength":5,"pattern":'));
  afterAll(() => resources.disposeAsync());

  test("checks a sandbox of a contract, and says which rules do not apply", async () => {
    await using sandbox = await RunningSandbox.startInProcess({ args: ["--contract", readingsFile] });
    const args = ["--url", sandbox.url, "--token", sandbox.token, "--contract", readingsFile];
    const { exitCode, stdout, stderr } = await runCommand(["conformance", ...args, "--rule", "contract,ids"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toStartWith(`Meters conformance of ${sandbox.url}\n`);
    expect(stdout).toContain("\nn/a     contract.unknown-members (the contract allows no unknown members)\n");
    expect(stdout).toMatch(/rules hold, 0 do not, 7 do not apply, in \S+ s\n$/);
  });

  test.each([
    [
      ["--contract", readingsFile, "--rule", "ids.limits"],
      "ids.limits does not apply to this contract: the contract limits its ids",
    ],
    [
      ["--contract", textlessFile],
      "--contract: the rules need a text of a meter reading that takes any words, such as a name",
    ],
    [
      ["--contract", parcelsFile, "--collection", "/other"],
      '--collection: "/other" is no collection of the contract; it has parcels',
    ],
    [
      ["--contract", "/nowhere.yaml"],
      "the contract /nowhere.yaml cannot be read (ENOENT); name a file with --contract",
    ],
  ])("%j is an error", async (args, message) => {
    const { exitCode, stderr } = await runCommand(["conformance", "--list", ...args]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: `plantstore: ${message}\n` });
  });
});
