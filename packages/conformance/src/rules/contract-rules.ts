// Checks the create: what it accepts, what it returns, and that it requires a token.

import type { ServedOperation } from "../../../../src/contract/contract.ts";
import { formOf } from "../../../../src/contract/error-format.ts";
import { type Contents, objectJson } from "../requests/contents.ts";
import {
  createdId,
  errorShapeOf,
  expectAccepted,
  expectClientError,
  expectErrorBody,
  expectJsonType,
  expectMembers,
  expectPlant,
  expectReturnedId,
  expectStatus,
  expectThat,
  type PlantFields,
  parseObject,
  shorten,
  textOf,
} from "../requests/expectations.ts";
import { isCreate } from "../wire/request-parts.ts";
import { RuleSkipped, RuleViolation } from "../wire/rule-ends.ts";
import { ofEveryResponse } from "./every-response.ts";
import { sendOperation } from "./operation-rules.ts";
import {
  byContract,
  byDecision,
  byStandard,
  decision,
  placesIn,
  type Rule,
  rfc,
  rulesOf,
  unfitReasons,
} from "./rule.ts";

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

const escapeLetter = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;

export function contractRules(contents: Contents): readonly Rule[] {
  const { collection, title, group, named } = contents;
  const { operation, success, security, rejection, errorSchema, plantSchema, newPlantSchema } =
    placesIn(contents);
  const { status: created, errors } = collection.operations.create;
  const { status: rejected } = formOf(errors, "invalidPlant");
  const { access } = contents;
  const noToken = access.isOpen && unfitReasons.noToken;
  /** Like `named`, with an escape for the first letter of the title. */
  const escapedName =
    contents.beforeTitle + named.slice(contents.beforeTitle.length).replace(/(?<=^")[A-Za-z]/, escapeLetter);
  const fittingTexts = Object.fromEntries(
    Object.entries(texts).filter(([, text]) => contents.takesTitle(text)),
  );
  const isTaken = (member: string) =>
    [collection.id, ...collection.fields].some(({ name }) => name === member);
  const isReturned = (member: string) =>
    collection.fields.some((field) => field.name === member && contents.isReturned(field)) ||
    (contents.created?.hasId === true && member === collection.id.name) ||
    member === contents.created?.createdName;
  return rulesOf(contents, "contract", {
    create: {
      title: "A valid plant gets 200, and a Plant with its name, and its tag if it has one.",
      generalTitle: "A valid plant gets 200, and a Plant with its members.",
      required: byContract(success, newPlantSchema),
      run: async (check) => {
        const tags = { "without a tag": undefined, ...(group && { "with a tag": "tropical" }) };
        for (const [label, tag] of Object.entries(tags))
          await check.case(contents.inItsWords(label), async () => {
            const id = check.id();
            // Not a name that a mock server may return.
            const response = await check.expectPlant(id, `Monstera ${id % 1_000n}`, tag);
            expectStatus(response, created);
          });
        if (contents.otherFields.length === 0) return;
        await check.case("with every member", async () => {
          const id = check.id();
          const { body, returned } = contents.fullPlant(id);
          const response = await check.create(body);
          expectMembers(contents, response, returned);
          expectReturnedId(contents, response, id);
        });
      },
    },
    "plant-members": {
      unfit: contents.created === undefined && unfitReasons.noBody,
      title: "The body of every 200 is JSON and a Plant: `name`, a string, and `tag`, a string, or none.",
      generalTitle:
        "The body of every 200 is JSON and a Plant: its members have their types, and none is missing.",
      required: byContract(`${success}.content.application/json`, plantSchema),
      ...ofEveryResponse(
        ({ status }, request) => status === created && isCreate(request),
        (response) => {
          expectJsonType(response);
          const body = parseObject(response);
          const text = textOf(response);
          for (const field of collection.fields) {
            const fault = contents.isReturned(field) ? contents.findFault(text, field) : undefined;
            if (fault !== undefined)
              throw new RuleViolation(`${fault}, received ${shorten(body[field.name])}`);
          }
        },
      ),
    },
    "text-unchanged": {
      unfit: Object.keys(fittingTexts).length === 0 && unfitReasons.limitedTexts,
      title: "Any text may be a name or a tag, and is returned unchanged.",
      generalTitle: "Any text that may be a name is returned unchanged.",
      required: byContract(plantSchema, rfc(8259, "8.3"), decision("`name`, `tag`")),
      run: (check) =>
        check.cases(fittingTexts, (text) =>
          check.expectPlant(check.id(), text, contents.takesGroup(text) ? text : undefined),
        ),
    },
    "largest-body": {
      title: "A body of exactly the limit, 1 MiB by default, is accepted.",
      required: byDecision(`${operation}.responses.413`),
      run: async (check) => {
        const { body, name } = check.plantOfLength(check.target.bodyBytesMax);
        await check.expectCreated(body, { name });
      },
    },
    "json-forms": {
      title: "The order of members, white space and escapes make no difference.",
      required: byStandard(rfc(8259, "2"), rfc(8259, "4"), rfc(8259, "7")),
      run: async (check) => {
        const monstera = { name: "Monstera", tag: "tropical" };
        const title = '"Monstera"';
        const tag = contents.grouped('"tropical"');
        const spacedTag = tag.map((member) => ` , ${member}`).join("");
        const escapes = { name: '"\\/\b\f\n\r\t/' };
        const forms: Readonly<Record<string, readonly [body: string, plant: PlantFields]>> = {
          ...(contents.sendsIds && {
            "the id last": [objectJson(tag, named + title, contents.idMember("ID")), monstera] as const,
          }),
          "white space": [
            `\r\n\t {\n ${contents.idMembers("ID").map((member) => `${member.replace(":", " : ")} ,\t`)}${named} ${title}${spacedTag}\r\n} \n`,
            monstera,
          ],
          "escaped letters": [
            objectJson(
              contents.idMembers("ID"),
              `${escapedName}"\\u004d\\u006Fnstera"`,
              contents.grouped('"\\u0074ropical"'),
            ),
            monstera,
          ],
          ...(contents.takesTitle(escapes.name) && {
            "every escape": [contents.plantTitled('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u002F"'), escapes] as const,
          }),
          ...(contents.takesTitle("🌱") && {
            "an escaped surrogate pair": [contents.plantTitled('"\\ud83c\\udf31"'), { name: "🌱" }] as const,
          }),
        };
        await check.cases(forms, ([body, plant]) => check.expectCreated(check.withNewId(body), plant));
      },
    },
    "unknown-members": {
      unfit: !collection.allowsOthers && unfitReasons.noOthers,
      title: "Unknown members are accepted, and a Plant has no members but name and tag.",
      generalTitle: "Unknown members are accepted, and a Plant has none of them.",
      required: byDecision(decision("Unknown fields"), decision("The 200 response")),
      run: async (check) => {
        const capitalized = title.name.slice(0, 1).toUpperCase() + title.name.slice(1);
        const unknown: readonly (readonly [member: string, json: string])[] = [
          ["colour", `{"id":1.5,${named}7,"list":[[]]}`],
          [capitalized, '"other"'],
          ["__proto__", objectJson(contents.grouped('"x"'))],
          ["", "null"],
        ];
        const members = unknown
          .filter(([member]) => !isTaken(member))
          .map(([member, json]) => [JSON.stringify(member), `${JSON.stringify(member)}:${json}`] as const);
        await check.cases({ none: [], ...Object.fromEntries(members) }, async (member) => {
          const response = await check.create(check.withNewId(contents.plantWith(member)));
          expectPlant(contents, response, { name: "Monstera" });
          if (contents.created === undefined) return;
          const others = Object.keys(parseObject(response)).filter((name) => !isReturned(name));
          expectThat(others.length === 0, `expected no other members, received ${others.join(", ")}`);
        });
      },
    },
    "duplicate-members": {
      title: "Of members with one name the last counts.",
      generalTitle: "Of equal members the last counts.",
      required: byDecision(decision("A duplicate member name"), rfc(8259, "4")),
      run: async (check) => {
        const id = check.id();
        const escapedId = contents.idMember(id).replace(/(?<=^")[A-Za-z]/, escapeLetter);
        const ids = contents.sendsIds ? [contents.idMember(id), escapedId] : [];
        const members = [
          contents.titled("first"),
          ...ids.slice(0, 1),
          contents.titled("last"),
          ...ids.slice(1),
        ];
        const last = objectJson(contents.idMembers(`${check.id()}.5`), members);
        await check.expectCreated(last, { name: "last" });
        if (!contents.sendsIds) return;
        const body = objectJson(
          contents.idMember(check.id()),
          contents.titled("Monstera"),
          contents.idMember(`${check.id()}.5`),
        );
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
      required: byStandard(rfc(9110, "8.3.1"), `${operation}.requestBody`),
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
      unfit: noToken,
      title:
        "A create without the token, with another or with another scheme is rejected, and nothing is stored; so is every other operation that needs a token, without it.",
      required: byContract(...security, rfc(6750, "2.1")),
      run: async (check) => {
        const { token } = check.target;
        const credentials: Readonly<Record<string, string | null>> = {
          "no token": null,
          "an unknown token": "unknown",
          "the token and a character": check.secret(`${token}A`),
          "the token and a word": `${token} admin`,
          "the token and a comma": `${token},`,
          "the token twice": `${token} ${token}`,
        };
        const headersOf: Readonly<Record<string, Readonly<Record<string, string | null>>>> = {
          ...Object.fromEntries(
            Object.entries(credentials).map(([label, sent]) => [label, contents.credentials(sent)]),
          ),
          ...(access.bearer && {
            "another scheme": { ...contents.credentials(null), Authorization: "Basic dXNlcjpwYXNz" },
            "no scheme": { ...contents.credentials(null), Authorization: "unknown" },
            "a scheme without a token": { ...contents.credentials(null), Authorization: "Bearer" },
          }),
        };
        await check.cases(headersOf, async (headers) => {
          const id = check.id();
          const response = await check.create(contents.plantJson(id, "without the token"), headers);
          expectClientError(response);
          const next = await check.create(contents.plantJson(id, "with the token"));
          expectAccepted(next, `the plant is stored, although its create got ${response.status}`);
        });
        const guarded = (["get", "list", "replace", "change", "delete"] as const).filter(
          (name) => collection.operations[name]?.access.isOpen === false,
        );
        if (guarded.length === 0) return;
        const id = createdId(contents, await check.create(check.plant()));
        await check.cases(
          Object.fromEntries(guarded.map((name) => [`${name} without a token`, name])),
          async (name) => {
            const { access } = collection.operations[name] as ServedOperation;
            const headers = contents.credentials(null, access);
            const body = ["replace", "change"].includes(name) ? { body: check.plant() } : {};
            const below = name === "list" ? "" : `/${id}`;
            expectClientError(await sendOperation(check, name, below, { ...body, headers }));
          },
        );
      },
    },
    "token-of-each-request": {
      unfit: noToken,
      title: "Every request needs a token, also on a connection that had an accepted one.",
      required: byContract(...security, rfc(9110, "3.3")),
      run: async (check) => {
        const credentials = { "no token": null, "an unknown token": "unknown" };
        await check.cases(credentials, (sent) =>
          check.connected(async (connection) => {
            const headers = { Connection: null };
            const accepted = await check.exchange(connection, { body: check.plant(), headers });
            expectAccepted(accepted);
            const other = { ...headers, ...contents.credentials(sent) };
            const response = await check.exchangeOrClose(connection, { body: check.plant(), headers: other });
            if (response !== undefined) expectClientError(response);
          }),
        );
      },
    },
    "scheme-case": {
      unfit: !access.bearer && unfitReasons.noBearer,
      title: "The scheme Bearer is recognized in any case.",
      required: byStandard(rfc(9110, "11.1"), decision("Scheme name")),
      run: (check) =>
        check.each(["bearer", "BEARER", "bEaReR"], (scheme) =>
          check.expectMonstera({ Authorization: `${scheme} ${check.target.token}` }),
        ),
    },
    "required-members": {
      title: "A body without an id or without a name is rejected.",
      generalTitle: "A body without an id or another required member is rejected.",
      required: byContract(newPlantSchema, plantSchema),
      run: async (check) => {
        for (const field of collection.fields.filter(({ isRequired }) => isRequired))
          await check.case(`no ${field.name}`, () =>
            check.expectInvalid(check.withNewId(contents.bodyWithout("ID", field))),
          );
        if (!contents.sendsIds) return;
        await check.case("no id", () =>
          check.expectInvalidWithoutId(objectJson(contents.titled("Monstera"))),
        );
        await check.case("no members", () => check.expectInvalidWithoutId("{}"));
      },
    },
    "member-types": {
      title: "An id, a name or a tag of another type is rejected.",
      generalTitle: "An id or another member of another type is rejected.",
      required: byContract(newPlantSchema, plantSchema),
      run: async (check) => {
        const withTag = () => check.create(check.plant("Monstera", "tropical"));
        const withEvery = () => check.create(contents.fullPlant(check.id()).body);
        for (const field of collection.fields)
          for (const wrong of contents.wrongValues(field)) {
            const body = contents.bodyWith(check.id(), field, wrong);
            const send = async () => expectClientError(await check.create(body));
            const control = field.isRequired ? undefined : field === group ? withTag : withEvery;
            await check.case(`${JSON.stringify(field.name)}: ${wrong}`, send, control);
          }
        if (!contents.sendsIds) return;
        await check.case('"id": [1]', () =>
          check.expectInvalid(contents.plantJson(`[${check.id()}]`, "Monstera")),
        );
        for (const other of ["true", "{}", "null"])
          await check.case(`"id": ${other}`, () =>
            check.expectInvalidWithoutId(contents.plantJson(other, "Monstera")),
          );
      },
    },
    "as-described": {
      title: "Every response is as the contract describes it for its operation: status, media type, schema.",
      required: byContract(`${operation}.responses`),
      ...ofEveryResponse(
        (response, request) => contents.described?.concerns(response, request) === true,
        (response, request) => contents.described?.expect(response, request),
      ),
    },
    "error-members": {
      applies: collection.operations.create.errors.shape.schema !== undefined,
      title: `The body of every ${rejected} is JSON and an Error: \`error\`, an int32, and \`message\`, a string.`,
      required: byContract(rejection, errorSchema),
      ...ofEveryResponse(
        ({ status }, request) => status === rejected && isCreate(request),
        (response) => {
          expectErrorBody(contents, response);
          expectJsonType(response, errorShapeOf(contents, response).contentType);
        },
      ),
    },
  });
}

/** Checked last: what it sends has left servers unable to answer anything. */
export function robustnessRules(contents: Contents): readonly Rule[] {
  const { operation, newPlantSchema } = placesIn(contents);
  return rulesOf(contents, "contract", {
    "no-server-error": {
      title: "No JSON in the body gets a status of 500 or more.",
      required: byContract(`${operation}.responses`, newPlantSchema),
      run: async (check) => {
        const nested = `${"[".repeat(check.longLength / 2)}${"]".repeat(check.longLength / 2)}`;
        const bodies = {
          "an unpaired surrogate": contents.plantTitled('"\\ud800"'),
          "an unpaired surrogate in the tag": contents.plantWith(contents.grouped('"\\udc00"')),
          "U+0000": contents.plantTitled('"Monst\\u0000era"'),
          "an unpaired surrogate as a member": contents.plantWith('"\\ud800":1'),
          "deep nesting": contents.plantWith(`"x":${nested}`),
          "nothing but nesting": nested,
          ...(contents.sendsIds && {
            "an id of many digits": contents.plantJson("9".repeat(check.longLength), "Monstera"),
            "an id with a huge exponent": contents.plantJson("1e999999999", "Monstera"),
          }),
          "a tag that is null": contents.plantWith(contents.grouped("null")),
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
}
