// plantstore token create | rotate | list | revoke: manages tokens. Changes take effect within 2
// seconds.

import { Command } from "commander";
import { isActive, makeToken, randomBytes } from "../../auth/token.ts";
import { toTokenSummary } from "../../auth/token-summary.ts";
import { OperatorError } from "../../base/operator-error.ts";
import { formatTable, issueToken, printError, printStoredLines } from "../../process/output.ts";
import { planRotation, type Rotated, type RotationOutcome } from "../../store/shared/token-record.ts";
import { withSettings } from "../command-options.ts";
import { withStore } from "./with-store.ts";

export function tokenCommand(): Command {
  return new Command("token")
    .description("issue, rotate, list and revoke the tokens that clients send")
    .addCommand(createCommand())
    .addCommand(rotateCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());
}

function createCommand(): Command {
  const command = new Command("create").description("issue a token, and print it; it is shown only once");
  return withSettings(
    command,
    ["tokenName", "tokenExpires", "tokenScope", "database"],
    async ({ tokenName: name, tokenExpires, tokenScope: scopes, database }) => {
      const expiresAt = tokenExpires ?? null;
      const { token, record } = makeToken({ name, expiresAt, scopes }, { now: Date.now(), randomBytes });
      await withStore(database, "writable", async ({ tokens }) => {
        const taken = new OperatorError(
          `a token named "${name}" already exists; choose another name, or rotate or revoke it`,
        );
        if ((await tokens.list()).some((each) => each.name === name && each.revokedAt === null)) throw taken;
        await issueToken([token], async () => {
          if (!(await tokens.add(record))) throw taken;
        });
      });
      printError(`Token "${name}" issued, ${formatExpiry(expiresAt)}. It is shown only once.`);
    },
  );
}

function rotateCommand(): Command {
  const command = new Command("rotate")
    .description(
      "issue a new token with the same name, and print it; it is shown only once. Older tokens stay valid until the overlap ends or they expire",
    )
    .argument("<name>", "name of the token");
  return withSettings(
    command,
    ["tokenOverlap", "tokenExpires", "database"],
    async ({ tokenOverlap: overlapMs, tokenExpires: expiresAt, database }, name: string) => {
      const now = Date.now();
      const { token, record } = makeToken({ name, expiresAt: null }, { now, randomBytes });
      const { hash } = record;
      const rotated = await withStore(database, "writable", async ({ tokens }) => {
        const rotation = { hash, name, rotatedAt: now, expiresAt, overlapEndsAt: now + overlapMs };
        const namesakes = (await tokens.list()).filter(
          (each) => each.name === name && each.revokedAt === null,
        );
        assertRotated(planRotation(namesakes.at(-1), rotation), name);
        return issueToken([token], async () => assertRotated(await tokens.rotate(rotation), name));
      });
      const { predecessorEndsAt } = rotated;
      const previous =
        predecessorEndsAt > now
          ? `stays valid until ${new Date(predecessorEndsAt).toISOString()}`
          : "is rejected within 2 seconds";
      printError(
        `Token "${name}" rotated, ${formatExpiry(rotated.token.expiresAt)}. It is shown only once. The previous token ${previous}.`,
      );
    },
  );
}

function assertRotated(outcome: RotationOutcome, name: string): Rotated {
  if (outcome === "none") throw noActiveToken(name);
  if (outcome === "expired")
    throw new OperatorError(
      `the token named ${JSON.stringify(name)} has expired; revoke it, and create another with that name`,
    );
  return outcome;
}

function listCommand(): Command {
  const command = new Command("list").description(
    "list the tokens that are accepted, by age, with their states",
  );
  return withSettings(command, ["json", "all", "database"], async ({ json, all, database }) => {
    const now = Date.now();
    const tokens = await withStore(database, "existing", (store) => store.tokens.list());
    const shown = all ? tokens : tokens.filter((token) => isActive(token, now));
    const summaries = shown.map((token) => toTokenSummary(token, now));
    const rows = summaries.map(({ name, state, scopes, created, expires, revoked, lastUsed }) => [
      name,
      state,
      scopes ?? "all",
      created,
      expires ?? "no expiry",
      revoked ?? "-",
      lastUsed ?? "never used",
    ]);
    const header = ["NAME", "STATE", "SCOPES", "CREATED", "EXPIRES", "REVOKED", "LAST USED"];
    if (shown.length === 0)
      printError('There is none. "plantstore token create --name NAME" issues a token.');
    await printStoredLines(
      json ? summaries.map((row) => JSON.stringify(row)) : formatTable([header, ...rows]),
    );
  });
}

function revokeCommand(): Command {
  const command = new Command("revoke")
    .description("revoke a token, and the older tokens of its name, permanently")
    .argument("<name>", "name of the token");
  return withSettings(command, ["database"], async ({ database }, name: string) => {
    const wasRevoked = await withStore(database, "writable", ({ tokens }) => tokens.revoke(name, Date.now()));
    if (!wasRevoked) throw noActiveToken(name);
    printError(`Token "${name}" revoked; running servers reject it within 2 seconds.`);
  });
}

function noActiveToken(name: string): OperatorError {
  return new OperatorError(
    `no active token is named ${JSON.stringify(name)}; "plantstore token list" lists the active ones`,
  );
}

function formatExpiry(expiresAt: number | null): string {
  return expiresAt === null ? "no expiry" : `valid until ${new Date(expiresAt).toISOString()}`;
}
