// The rules of contracts in the shapes of samples: ids of the server, keys for retries, errors and
// security of other shapes, lists, pages and single resources. Each rule of these has a server that
// breaks it.

import { expect, test } from "bun:test";
import { describeContractRules, startContractRules } from "../../support/contract-rules.ts";
import { contractFile, sandboxOf } from "../../support/contract-sandbox.ts";
import { runCommand } from "../../support/server.ts";
import { type Bug, headerValues, type Message, setHeader, setText, textOf } from "./buggy-server.ts";
import {
  altersHeader,
  altersRequestHeader,
  altersText,
  answers,
  misreadStart,
  misreadText,
} from "./kinds-of-bugs.ts";

const read = (name: string) => Bun.file(contractFile(name)).text();

const isCreate = ({ start }: Message) => start.startsWith("POST ");
const isList = ({ start }: Message) => /^GET \/\w+(?:\?| )/.test(start);
const isItem = ({ start }: Message) => /^GET \/\w+\//.test(start);
const isError = ({ start }: Message) => / [45]\d\d /.test(start);

/** Bugs of a server that chooses its ids. */
const keyBugs: Readonly<Record<string, Bug>> = {
  "keys are forgotten": altersRequestHeader(
    ["idempotence.same-key", "idempotence.key-race"],
    "Idempotency-Key",
    () => undefined,
  ),
  "every create has one key": altersRequestHeader(
    ["idempotence.new-id-each"],
    "Idempotency-Key",
    () => "one",
  ),
  "another content with a key is another plant": {
    breaks: ["idempotence.key-of-another"],
    request(request) {
      const [key] = headerValues(request, "idempotency-key");
      if (key !== undefined) setHeader(request, "Idempotency-Key", key + Bun.hash(request.body));
    },
  },
  "the response has no id": altersText(
    ["contract.create"],
    (text) => text.replace(/"(?:id|visitId)":(?:\d+|"[^"]*"),/, ""),
    (_, request) => isCreate(request),
  ),
};

const noLocation = altersHeader(["contract.location"], "Location");

const operationBugs: Readonly<Record<string, Bug>> = {
  "no Location": noLocation,
  "a GET has another content": altersText(
    ["contract.get"],
    (text) => text.replace("Monstera", "Ficus"),
    (_, request) => isItem(request),
  ),
  "a deletion does nothing": answers(["contract.delete"], 204, ({ start }) => start.startsWith("DELETE ")),
};

const ignoresLimit = {
  "a list ignores its limit": misreadStart(["contract.list"], (start) =>
    start.replace("limit=1", "limit=50"),
  ),
};

/** Bugs of a server whose resources can be replaced. */
const editBugs: Readonly<Record<string, Bug>> = {
  "a replacement does nothing": answers(["contract.replace"], 204, ({ start }) => start.startsWith("PUT ")),
  "conditions are ignored": {
    breaks: ["contract.edit-conditions"],
    request(request) {
      setHeader(request, "If-Match");
      setHeader(request, "If-None-Match");
    },
  },
};

const samples: readonly (readonly [file: string, bugs: Readonly<Record<string, Bug>>])[] = [
  [
    "bookings.yaml",
    {
      ...keyBugs,
      ...operationBugs,
      ...ignoresLimit,
      "every page is the first": misreadStart(["contract.list"], (start) => start.replace(/&page=\d+/, "")),
      "a list is an array": altersText(
        ["contract.list"],
        (text) => text.replace(/^\{"data":(\[.*\]).*$/, "$1"),
        (_, request) => isList(request),
      ),
      "the time of creation is another": altersText(["contract.created-time"], (text) =>
        text.replace(/"created_at":"\d{4}/, '"created_at":"1999'),
      ),
      "the time of creation is that of the client": {
        breaks: ["contract.readonly-ignored"],
        request(request, state) {
          state.seen.set("last", /"created_at":"([^"]*)"/.exec(textOf(request))?.[1] ?? "");
        },
        response(response, _, state) {
          const sent = state.seen.get("last") ?? "";
          if (sent !== "")
            setText(response, textOf(response).replace(/"created_at":"[^"]*"/, `"created_at":"${sent}"`));
        },
      },
      "the key is not checked": altersRequestHeader(
        ["contract.token-required", "contract.token-of-each-request", "errors.missing-token"],
        "X-API-Key",
        (_, token) => token,
      ),
      "problems are plain JSON": {
        breaks: ["contract.error-members", "errors.body-members"],
        response(response) {
          if (isError(response)) setHeader(response, "Content-Type", "application/json");
        },
      },
      "problems have another status": altersText(
        ["contract.error-members", "errors.invalid-json"],
        (text) => text.replace(/"status":\d+/, '"status":499'),
        isError,
      ),
    },
  ],
  ["visits.yaml", { ...keyBugs, ...operationBugs }],
  [
    "members.yaml",
    {
      ...keyBugs,
      ...operationBugs,
      ...ignoresLimit,
      ...editBugs,
      "a PUT creates nothing": {
        breaks: ["contract.replace-creates"],
        request: (request) => {
          if (request.start.startsWith("PUT ")) setHeader(request, "If-Match", "*");
        },
      },
      "a patch is a replacement": {
        breaks: ["contract.change"],
        request: (request) => {
          if (request.start.startsWith("PATCH ")) request.start = request.start.replace("PATCH", "PUT");
          setText(request, textOf(request).replace("Ficus", "Monstera"));
        },
      },
      "a UUID in upper case is another one": answers(["ids.uuid-case"], 404, ({ start }) =>
        /^GET \S*[A-F]/.test(start.slice(0, 60)),
      ),
    },
  ],
  [
    "codes.yaml",
    {
      ...editBugs,
      "ids are compared without case": misreadText(["ids.letter-case"], (text) =>
        text.replace(/"code":"([^"]*)"/, (_, code: string) => `"code":"${code.toUpperCase()}"`),
      ),
      "paths are not decoded": misreadStart(["ids.path-encoding"], (start) =>
        start.replace(/%(?=[\dA-F]{2})/g, "%25"),
      ),
      "an id may be a number": misreadText(["errors.invalid-plant"], (text) =>
        text.replace(/"code":(\d+)/, '"code":"$1"'),
      ),
    },
  ],
  [
    "pets.yaml",
    {
      "no Location": noLocation,
      "codes are texts": altersText(
        ["contract.error-members"],
        (text) => text.replace(/"code":(\d+)/, '"code":"$1"'),
        isError,
      ),
    },
  ],
];
for (const [file, bugs] of samples) describeContractRules(file, { text: await read(file) }, bugs);

test("a create that needs a key is sent with one, and rejected without", async () => {
  const keyed = (await read("visits.yaml")).replace(
    "operationId: bookVisit",
    "operationId: bookVisit\n      parameters: [{ name: Idempotency-Key, in: header, required: true, schema: { type: string } }]",
  );
  await using contract = await startContractRules({ text: keyed });
  await contract.expectKept(["contract", "idempotence"]);
  await contract.expectFound({
    breaks: ["idempotence.key-required"],
    request(request) {
      if (headerValues(request, "idempotency-key").length === 0) setHeader(request, "Idempotency-Key", "own");
    },
  });
});

test("the command needs no token for a contract that needs none", async () => {
  await using store = await sandboxOf(contractFile("pets.yaml"));
  const args = ["--url", store.url, "--contract", contractFile("pets.yaml"), "--rule", "contract.create"];
  const { exitCode, stdout, stderr } = await runCommand(["conformance", ...args]);
  expect({ exitCode, stderr, stdout }).toMatchObject({ exitCode: 0, stderr: "" });
});
