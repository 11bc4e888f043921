// Checks the create: what it accepts, what it returns, and that it requires a token.

import { type Contents, newId, objectJson } from "../requests/contents.ts";
import {
  createdId,
  expectAccepted,
  expectClientError,
  expectMembers,
  expectPlant,
  expectReturnedId,
  expectStatus,
  expectThat,
  type PlantFields,
  plantOf,
} from "../requests/expectations.ts";
import { RuleSkipped } from "../wire/rule-ends.ts";
import { ofEveryResponse } from "./every-response.ts";
import { otherOperations, sendOperation } from "./operation-rules.ts";
import {
  byContract,
  byDecision,
  byStandard,
  type ConformanceRule,
  decision,
  placesIn,
  rfc,
  rulesOf,
  unfitReasons,
} from "./rule.ts";
import { invalidPlants, wrongCredentials } from "./wrong-requests.ts";

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

export function contractRules(contents: Contents): readonly ConformanceRule[] {
  const { collection, title, group, named } = contents;
  const { body, responses, success, security } = placesIn(contents);
  const { status: created } = collection.operations.create;
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
    member === contents.created?.createdName ||
    member === contents.created?.updatedName;
  return rulesOf(contents, "contract", {
    create: {
      title: "A valid plant gets 200, and a Plant with its members.",
      required: byContract(success, body),
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
    "text-unchanged": {
      unfit: Object.keys(fittingTexts).length === 0 && unfitReasons.limitedTexts,
      title: "Any text that may be a name is returned unchanged.",
      required: byContract(body, rfc(8259, "8.3"), decision("`name`, `tag`")),
      run: (check) =>
        check.cases(fittingTexts, (text) =>
          check.expectPlant(check.id(), text, contents.takesGroup(text) ? text : undefined),
        ),
    },
    "largest-body": {
      title: "A body of exactly the limit, 1 MiB by default, is accepted.",
      required: byDecision(responses),
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
        const title = contents.titleJson("Monstera");
        const tag = contents.grouped('"tropical"');
        const spacedTag = tag.map((member) => ` , ${member}`).join("");
        const escapes = { name: '"\\/\b\f\n\r\t/' };
        const forms: Readonly<Record<string, readonly [body: string, plant: PlantFields]>> = {
          ...(contents.sendsIds && {
            "the id last": [contents.body(tag, named + title, contents.idMember(newId)), monstera] as const,
          }),
          "white space": [
            contents.wrapped(
              `\r\n\t {\n ${contents.idMembers(newId).map((member) => `${member.replace(":", " : ")} ,\t`)}${named} ${title}${spacedTag}\r\n} \n`,
            ),
            monstera,
          ],
          ...(contents.takesTitle("Monstera") && {
            "escaped letters": [
              contents.body(
                contents.idMembers(newId),
                `${escapedName}"\\u004d\\u006Fnstera"`,
                contents.grouped('"\\u0074ropical"'),
              ),
              monstera,
            ] as const,
          }),
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
      title: "Unknown members are accepted, and a Plant has none of them.",
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
          const others = Object.keys(plantOf(contents, response)).filter((name) => !isReturned(name));
          expectThat(others.length === 0, `expected no other members, received ${others.join(", ")}`);
        });
      },
    },
    "media-type-forms": {
      title: "application/json is recognized in any case, and with parameters such as charset=utf-8.",
      required: byStandard(rfc(9110, "8.3.1"), body),
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
      required: byContract(security, rfc(6750, "2.1")),
      run: async (check) => {
        await check.cases(wrongCredentials(check), async (parts) => {
          const id = check.id();
          const body = contents.plantJson(id, "without the token");
          const response = await check.send({ ...parts, body });
          expectClientError(response);
          const next = await check.create(contents.plantJson(id, "with the token"));
          expectAccepted(next, `the plant is stored, although its create got ${response.status}`);
        });
        const guarded = otherOperations.filter(
          (name) => collection.operations[name]?.access.isOpen === false,
        );
        if (guarded.length === 0) return;
        const id = createdId(contents, await check.create(check.plant()));
        const cases = guarded.map((name) => [`${name} without a token`, name] as const);
        await check.cases(Object.fromEntries(cases), async (name) => {
          const headers = contents.credentials(null, collection.operations[name]?.access);
          const body = ["replace", "change"].includes(name) ? { body: check.plant() } : {};
          const below = name === "list" ? "" : `/${id}`;
          expectClientError(await sendOperation(check, name, below, { ...body, headers }));
        });
      },
    },
    "token-of-each-request": {
      unfit: noToken,
      title: "Every request needs a token, also on a connection that had an accepted one.",
      required: byContract(security, rfc(9110, "3.3")),
      run: (check) =>
        check.cases({ "no token": null, "an unknown token": "unknown" }, (sent) =>
          check.onOneConnection(async () => {
            expectAccepted(await check.create(check.plant()));
            expectClientError(await check.create(check.plant(), contents.credentials(sent)));
          }),
        ),
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
    "invalid-members": {
      title: "A body without a required member, or with one of another type, is rejected.",
      required: byContract(body),
      run: async (check) => {
        for (const { label, body: text, field, isWithoutId } of invalidPlants(contents)) {
          // Of a request with an optional member, the control has it, too.
          const { body: full } = contents.fullPlant(check.id());
          const control = field === undefined || field.isRequired ? undefined : () => check.create(full);
          const invalid = check.withNewId(text);
          const send = () =>
            isWithoutId ? check.expectInvalidWithoutId(invalid) : check.expectInvalid(invalid);
          await check.case(label, send, control);
        }
      },
    },
    "as-described": {
      title: "Every response is as the contract describes it for its operation: status, media type, schema.",
      required: byContract(responses),
      ...ofEveryResponse(
        (response, request) => contents.described?.concerns(response, request) === true,
        (response, request) => contents.described?.expect(response, request),
      ),
    },
  });
}

/** Checked last: what it sends has left servers unable to answer anything. */
export function robustnessRules(contents: Contents): readonly ConformanceRule[] {
  const { body, responses } = placesIn(contents);
  return rulesOf(contents, "contract", {
    "no-server-error": {
      title: "No JSON in the body gets a status of 500 or more.",
      required: byContract(responses, body),
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
