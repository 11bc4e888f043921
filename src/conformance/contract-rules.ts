// Rules of the operation: what is accepted, what is returned, and that a token is required.

import { fieldNames, groupField, titleField } from "../core/contract/fields.ts";
import { isCreate, ofEveryResponse } from "./every-response.ts";
import {
  expectAccepted,
  expectClientError,
  expectErrorBody,
  expectJsonType,
  expectPlant,
  expectStatus,
  expectThat,
  type PlantFields,
  parseObject,
  shorten,
} from "./expectations.ts";
import { groupFields, named, plantJson, tagged } from "./ids.ts";
import { byContract, byDecision, byStandard, decision, openapi, type Rule, rfc, rulesOf } from "./rule.ts";
import { RuleSkipped } from "./rule-ends.ts";

const operation = "paths./plants.post";
const response200 = `${operation}.responses.200`;
const plantSchema = "components.schemas.Plant";
const newPlantSchema = "components.schemas.NewPlant";
const security = [openapi("components.securitySchemes.bearerAuth"), openapi("security")];

/** Like `named`, with an escape for the first letter of the title. */
const escapedName = named.replace(
  `"${titleField}"`,
  (text) => `"\\u${text.charCodeAt(1).toString(16).padStart(4, "0")}${text.slice(2)}`,
);

/** Texts that servers tend to alter. */
const texts: Readonly<Record<string, string>> = {
  "the empty text": "",
  "spaces at both ends": "  two  spaces  ",
  "a letter with an accent": "Foug\u00e8re",
  "a letter and an accent": "Fouge\u0300re",
  "characters that have an equivalent": "\u212b\ufb01",
  Chinese: "植物",
  "characters beyond U+FFFF": "🌱\u{10ffff}",
  "quotes, backslashes and control characters": '"\\/\b\f\n\r\t\u0001\u007f',
  "line separators and U+FEFF": "\u2028\u2029\ufeff",
  "line ends": "a\r\nb\rc\nd",
  "control characters beyond ASCII": "\u0080\u0085\u009b\u009f",
  noncharacters: "\ufdd0\ufffe\uffff\u{1fffe}",
  "markup and percent signs": "<b>&amp;%20+'; --",
  "a number": "0123.0",
};

export const contractRules: readonly Rule[] = rulesOf("contract", {
  create: {
    title: "A valid plant gets 200, and a Plant with its name, and its tag if it has one.",
    required: byContract(openapi(response200), openapi(newPlantSchema)),
    run: async (check) => {
      const tags = { "without a tag": undefined, "with a tag": "tropical" };
      await check.cases(tags, async (tag) => {
        const id = check.id();
        // Not a name that a mock server may return.
        const name = `Monstera ${id % 1_000n}`;
        const response = await check.create(plantJson(id, name, tag));
        expectPlant(response, { name, tag });
        expectStatus(response, 200);
      });
    },
  },
  "plant-members": {
    title: "The body of every 200 is JSON and a Plant: `name`, a string, and `tag`, a string, or none.",
    required: byContract(openapi(`${response200}.content.application/json`), openapi(plantSchema)),
    ...ofEveryResponse(
      ({ status }, request) => status === 200 && isCreate(request),
      (response) => {
        expectJsonType(response);
        const body = parseObject(response);
        for (const field of [titleField, ...groupFields]) {
          const value = body[field];
          expectThat(
            typeof value === "string" || (value === undefined && field === groupField),
            `expected the ${field} to be a string, received ${shorten(value)}`,
          );
        }
      },
    ),
  },
  "text-unchanged": {
    title: "Any text may be a name or a tag, and is returned unchanged.",
    required: byContract(openapi(plantSchema), rfc(8259, "8.3"), decision("`name`, `tag`")),
    run: (check) => check.cases(texts, (text) => check.expectPlant(check.id(), text, text)),
  },
  "largest-body": {
    title: "A body of exactly the limit, 1 MiB by default, is accepted.",
    required: byDecision(openapi(`${operation}.responses.413`)),
    run: async (check) => {
      const id = check.id();
      const name = "x".repeat(check.target.bodyBytesMax - plantJson(id, "").length);
      await check.expectPlant(id, name);
    },
  },
  "json-forms": {
    title: "The order of members, white space and escapes make no difference.",
    required: byStandard(rfc(8259, "2"), rfc(8259, "4"), rfc(8259, "7")),
    run: async (check) => {
      const monstera = { name: "Monstera", tag: "tropical" };
      const forms: Readonly<Record<string, readonly [body: string, plant: PlantFields]>> = {
        "the id last": [`{${tagged}"tropical",${named}"Monstera","id":ID}`, monstera],
        "white space": [
          `\r\n\t {\n "id" : ID ,\t${named} "Monstera" , ${tagged}"tropical"\r\n} \n`,
          monstera,
        ],
        "escaped letters": [
          `{"id":ID,${escapedName}"\\u004d\\u006Fnstera",${tagged}"\\u0074ropical"}`,
          monstera,
        ],
        "every escape": [`{"id":ID,${named}"\\"\\\\\\/\\b\\f\\n\\r\\t\\u002F"}`, { name: '"\\/\b\f\n\r\t/' }],
        "an escaped surrogate pair": [`{"id":ID,${named}"\\ud83c\\udf31"}`, { name: "🌱" }],
      };
      await check.cases(forms, ([body, plant]) => check.expectCreated(check.withNewId(body), plant));
    },
  },
  "unknown-members": {
    title: "Unknown members are accepted, and a Plant has no members but name and tag.",
    required: byDecision(decision("Unknown fields"), decision("The 200 response")),
    run: async (check) => {
      const unknown = {
        none: "",
        '"colour"': `,"colour":{"id":1.5,${named}7,"list":[[]]}`,
        '"Name"': ',"Name":"other"',
        '"__proto__"': `,"__proto__":{${tagged}"x"}`,
        '""': ',"":null',
      };
      await check.cases(unknown, async (members) => {
        const response = await check.create(check.withNewId(`{"id":ID,${named}"Monstera"${members}}`));
        expectPlant(response, { name: "Monstera" });
        const others = Object.keys(parseObject(response)).filter(
          (name) => !fieldNames.some((field) => field === name),
        );
        expectThat(others.length === 0, `expected no other members, received ${others.join(", ")}`);
      });
    },
  },
  "duplicate-members": {
    title: "Of members with one name the last counts.",
    required: byDecision(decision("A duplicate member name"), rfc(8259, "4")),
    run: async (check) => {
      const id = check.id();
      const last = `{"id":${check.id()}.5,${named}"first","id":${id},${named}"last","\\u0069d":${id}}`;
      await check.expectCreated(last, { name: "last" });
      const body = `{"id":${check.id()},${named}"Monstera","id":${check.id()}.5}`;
      expectClientError(await check.create(body));
    },
  },
  "byte-order-mark": {
    title: "A byte order mark before the body is ignored.",
    required: byDecision(decision("A byte order mark before the body"), rfc(8259, "8.1")),
    run: (check) => check.expectCreated(`\ufeff${check.plant()}`, { name: "Monstera" }),
  },
  "media-type-forms": {
    title: "application/json is recognized in any case, and with parameters such as charset=utf-8.",
    required: byStandard(rfc(9110, "8.3.1"), openapi(`${operation}.requestBody`)),
    run: async (check) => {
      const forms = [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; profile=x",
      ];
      await check.each(forms, (contentType) => check.expectMonstera({ "Content-Type": contentType }));
    },
  },
  "token-required": {
    title: "A create without the token, or with another, is rejected, and nothing is stored.",
    required: byContract(...security, rfc(6750, "2.1")),
    run: async (check) => {
      const { token } = check.target;
      const credentials: Readonly<Record<string, string | null>> = {
        "no token": null,
        "an unknown token": "Bearer unknown",
        "the token and a character": `Bearer ${check.secret(`${token}A`)}`,
        "the token and a word": `Bearer ${token} admin`,
        "the token and a comma": `Bearer ${token},`,
        "the token twice": `Bearer ${token} ${token}`,
      };
      await check.cases(credentials, async (authorization) => {
        const id = check.id();
        const headers = { Authorization: authorization };
        const response = await check.create(plantJson(id, "without the token"), headers);
        expectClientError(response);
        const next = await check.create(plantJson(id, "with the token"));
        expectAccepted(next, `the plant is stored, although its create got ${response.status}`);
      });
    },
  },
  "token-of-each-request": {
    title: "Every request needs a token, also on a connection that had an accepted one.",
    required: byContract(...security, rfc(9110, "3.3")),
    run: async (check) => {
      const credentials = { "no token": null, "an unknown token": "Bearer unknown" };
      await check.cases(credentials, (authorization) =>
        check.connected(async (connection) => {
          const headers = { Connection: null };
          const accepted = await check.exchange(connection, { body: check.plant(), headers });
          expectAccepted(accepted);
          const other = { ...headers, Authorization: authorization };
          connection.write(check.requestBytes({ body: check.plant(), headers: other }));
          const response = await check.responseOrClose(connection);
          if (response !== undefined) expectClientError(response);
        }),
      );
    },
  },
  "scheme-case": {
    title: "The scheme Bearer is recognized in any case.",
    required: byStandard(rfc(9110, "11.1"), decision("Scheme name")),
    run: (check) =>
      check.each(["bearer", "BEARER", "bEaReR"], (scheme) =>
        check.expectMonstera({ Authorization: `${scheme} ${check.target.token}` }),
      ),
  },
  "required-members": {
    title: "A body without an id or without a name is rejected.",
    required: byContract(openapi(newPlantSchema), openapi(plantSchema)),
    run: async (check) => {
      await check.case("no name", () => check.expectInvalid(check.withNewId('{"id":ID}')));
      await check.case("no id", () => check.expectInvalidWithoutId(`{${named}"Monstera"}`));
      await check.case("no members", () => check.expectInvalidWithoutId("{}"));
    },
  },
  "member-types": {
    title: "An id, a name or a tag of another type is rejected.",
    required: byContract(openapi(newPlantSchema), openapi(plantSchema)),
    run: async (check) => {
      const withTag = () => check.create(check.plant("Monstera", "tropical"));
      for (const other of ["5", "true", "[]", "{}"]) {
        const bodies = {
          [titleField]: "{",
          ...Object.fromEntries(groupFields.map((field) => [field, `{${named}"Monstera",`])),
        };
        for (const [member, start] of Object.entries(bodies)) {
          const body = `${start}"id":${check.id()},"${member}":${other}}`;
          const send = async () => expectClientError(await check.create(body));
          await check.case(`"${member}": ${other}`, send, member === titleField ? undefined : withTag);
        }
      }
      await check.case('"id": [1]', () => check.expectInvalid(`{"id":[${check.id()}],${named}"Monstera"}`));
      for (const other of ["true", "{}", "null"])
        await check.case(`"id": ${other}`, () =>
          check.expectInvalidWithoutId(`{"id":${other},${named}"Monstera"}`),
        );
    },
  },
  "error-members": {
    title: "The body of every 400 is JSON and an Error: `error`, an int32, and `message`, a string.",
    required: byContract(openapi(`${operation}.responses.400`), openapi("components.schemas.Error")),
    ...ofEveryResponse(
      ({ status }, request) => status === 400 && isCreate(request),
      (response) => {
        expectErrorBody(response);
        expectJsonType(response);
      },
    ),
  },
});

/** Checked last: what it sends has left servers unable to answer anything. */
export const robustnessRules: readonly Rule[] = rulesOf("contract", {
  "no-server-error": {
    title: "No JSON in the body gets a status of 500 or more.",
    required: byContract(openapi(`${operation}.responses`), openapi(newPlantSchema)),
    run: async (check) => {
      const nested = `${"[".repeat(check.longLength / 2)}${"]".repeat(check.longLength / 2)}`;
      const bodies = {
        "an unpaired surrogate": `{"id":ID,${named}"\\ud800"}`,
        "an unpaired surrogate in the tag": `{"id":ID,${named}"Monstera",${tagged}"\\udc00"}`,
        "U+0000": `{"id":ID,${named}"Monst\\u0000era"}`,
        "an unpaired surrogate as a member": `{"id":ID,${named}"Monstera","\\ud800":1}`,
        "deep nesting": `{"id":ID,${named}"Monstera","x":${nested}}`,
        "nothing but nesting": nested,
        "an id of many digits": `{"id":${"9".repeat(check.longLength)},${named}"Monstera"}`,
        "an id with a huge exponent": `{"id":1e999999999,${named}"Monstera"}`,
        "a tag that is null": `{"id":ID,${named}"Monstera",${tagged}null}`,
        null: "null",
        "an array": "[]",
        "a string": '"plant"',
        "a number": "1e400",
      };
      await check.cases(bodies, async (body) => {
        const { status } = await check.create(check.withNewId(body));
        if (status === 503) throw new RuleSkipped("the server is overloaded: it responded with 503");
        expectThat(status < 500, `expected a status below 500, received ${status}`);
      });
    },
  },
});
