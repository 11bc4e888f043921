// plantstore token create | rotate | list | revoke. A running server notices within 2 seconds.

import { Command } from "commander";
import { makeToken, randomBytes } from "../auth/token.ts";
import { toIsoString, toTokenSummary } from "../auth/token-summary.ts";
import { settingOf, withSettings } from "../config/command-config.ts";
import { parseDurationMs } from "../duration.ts";
import { OperatorError } from "../operator-error.ts";
import { printAll, printError, printLines, tellWaiting } from "../output.ts";
import { openStore } from "../store/open-store.ts";
import type { OpenMode } from "../store/plant-store.ts";
import type { TokenStore } from "../store/token-store.ts";
import { tableOf } from "./token-table.ts";

export function tokenCommand(): Command {
  return new Command("token")
    .description("issue, rotate, list and revoke the tokens that clients send")
    .addCommand(createCommand())
    .addCommand(rotateCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());
}

function createCommand(): Command {
  const command = new Command("create").description(
    "issue a token, and print it: it is shown only this once",
  );
  return withSettings(command, ["tokenName", "tokenExpires", "database"], ["tokenName"]).action(async () => {
    const name = settingOf(command, "tokenName");
    const expiresAt = expiresAtOf(command) ?? null;
    const { token, record } = makeToken({ name, expiresAt }, { now: Date.now(), randomBytes });
    const added = await withTokens(command, "writable", (tokens) => tokens.add(record));
    if (!added)
      throw new OperatorError(
        `a token named "${name}" exists already; choose another name, or rotate or revoke it`,
      );
    await printToken(command, token, record.hash, "issue another");
    printError(`Token "${name}" is issued${untilText(expiresAt)}. It is shown only this once.`);
  });
}

function rotateCommand(): Command {
  const command = new Command("rotate")
    .description(
      "issue a new token under the same name, and print it: it is shown only this once; those before it work on for a while",
    )
    .argument("<name>", "the token's name");
  return withSettings(command, ["tokenOverlap", "tokenExpires", "database"]).action(async (name: string) => {
    const now = Date.now();
    const { token, record } = makeToken({ name, expiresAt: null }, { now, randomBytes });
    const outcome = await withTokens(command, "writable", (tokens) =>
      tokens.rotate({
        hash: record.hash,
        name,
        rotatedAt: now,
        expiresAt: expiresAtOf(command),
        overlapEndsAt: now + parseDurationMs(settingOf(command, "tokenOverlap")),
      }),
    );
    if (outcome === "none") throw noneInForce(name);
    if (outcome === "expired")
      throw new OperatorError(
        `the token named ${JSON.stringify(name)} has expired; revoke it, and create another of that name`,
      );
    await printToken(command, token, record.hash, "the one before it is as it was; try again");
    const { predecessorEndsAt } = outcome;
    const before =
      predecessorEndsAt > now ? `works${untilText(predecessorEndsAt)}` : "is refused within 2 seconds";
    printError(
      `Token "${name}" is issued anew${untilText(outcome.token.expiresAt)}. It is shown only this once. The one before it ${before}.`,
    );
  });
}

function listCommand(): Command {
  const command = new Command("list").description("list the tokens, without the tokens themselves");
  return withSettings(command, ["json", "database"]).action(async () => {
    const now = Date.now();
    const tokens = await withTokens(command, "existing", (store) => store.list());
    const rows = tokens.map((token) => toTokenSummary(token, now));
    await printLines(settingOf(command, "json") ? rows.map((row) => JSON.stringify(row)) : tableOf(rows));
  });
}

function revokeCommand(): Command {
  const command = new Command("revoke")
    .description("revoke a token for good, and those of the same name that it has replaced")
    .argument("<name>", "the token's name");
  return withSettings(command, ["database"]).action(async (name: string) => {
    const revoked = await withTokens(command, "writable", (tokens) => tokens.revoke(name, Date.now()));
    if (!revoked) throw noneInForce(name);
    printError(`Token "${name}" is revoked; running servers refuse it within 2 seconds.`);
  });
}

/** Prints a token alone; takes it back if nobody can have seen it. */
async function printToken(command: Command, token: string, hash: string, advice: string): Promise<void> {
  await printAll([token]).catch(async (error) => {
    await withTokens(command, "writable", (tokens) => tokens.revokeByHash(hash));
    throw new OperatorError(
      `the token could not be printed (${error.code ?? error.message}), and is revoked; ${advice}`,
    );
  });
}

/** Null is never, undefined left open. */
function expiresAtOf(command: Command): number | null | undefined {
  const expires = settingOf(command, "tokenExpires");
  return expires === "never" ? null : expires;
}

async function withTokens<T>(
  command: Command,
  mode: OpenMode,
  use: (tokens: TokenStore) => Promise<T>,
): Promise<T> {
  const store = await openStore(settingOf(command, "database"), mode, printError, { report: tellWaiting });
  try {
    return await use(store.tokens);
  } finally {
    await store.close();
  }
}

function noneInForce(name: string): OperatorError {
  return new OperatorError(
    `no token named ${JSON.stringify(name)} is in force; "plantstore token list" shows those that are`,
  );
}

function untilText(end: number | null): string {
  return end === null ? "" : ` until ${toIsoString(end)}`;
}
