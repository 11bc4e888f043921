// plantstore token create | list | revoke. A running server notices within 2 seconds.

import { Command } from "commander";
import { settingOf, withSettings } from "../config/command-config.ts";
import { OperatorError } from "../operator-error.ts";
import { columnLines, printLines, tell } from "../operator-output.ts";
import { openStore } from "../store/open-store.ts";
import type { OpenMode } from "../store/plant-store.ts";
import type { TokenRecord, TokenStore } from "../store/token-store.ts";
import { isAccepted, makeToken, randomBytes } from "../tokens/token.ts";

export function tokenCommand(): Command {
  return new Command("token")
    .description("issue, list and revoke the tokens that clients send")
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());
}

function createCommand(): Command {
  const command = new Command("create").description(
    "issue a token, and print it: it is shown only this once",
  );
  return withSettings(command, ["tokenName", "tokenExpires", "database"], ["tokenName"]).action(async () => {
    const name = settingOf(command, "tokenName");
    const expiresAt = settingOf(command, "tokenExpires") ?? null;
    const { token, record } = makeToken({ name, expiresAt }, { now: Date.now(), randomBytes });
    const added = await withTokens(command, "create", (tokens) => tokens.add(record));
    if (!added)
      throw new OperatorError(
        `a token named "${name}" exists already; choose another name, or revoke it first`,
      );
    await printLines([token]).catch(async (error) => {
      await withTokens(command, "existing", (tokens) => tokens.revoke(name, Date.now()));
      throw new OperatorError(
        `the token could not be printed (${error.code ?? error.message}), and is revoked; issue another`,
      );
    });
    tell(
      `Token "${name}" is issued${expiresAt === null ? "" : ` until ${iso(expiresAt)}`}. It is shown only this once.`,
    );
  });
}

function listCommand(): Command {
  const command = new Command("list").description("list the tokens, without the tokens themselves");
  return withSettings(command, ["json", "database"]).action(async () => {
    const tokens = await withTokens(command, "existing", (store) => store.list());
    const rows = tokens.map(rowOf);
    await printLines(settingOf(command, "json") ? rows.map((row) => JSON.stringify(row)) : tableOf(rows));
  });
}

function revokeCommand(): Command {
  const command = new Command("revoke")
    .description("revoke a token for good")
    .argument("<name>", "the token's name");
  return withSettings(command, ["database"]).action(async (name: string) => {
    const revoked = await withTokens(command, "existing", (tokens) => tokens.revoke(name, Date.now()));
    if (!revoked)
      throw new OperatorError(
        `no token named ${JSON.stringify(name)} is in force; "plantstore token list" shows those that are`,
      );
    tell(`Token "${name}" is revoked; running servers refuse it within 2 seconds.`);
  });
}

async function withTokens<T>(
  command: Command,
  mode: OpenMode,
  use: (tokens: TokenStore) => Promise<T>,
): Promise<T> {
  const store = await openStore(settingOf(command, "database"), mode, tell);
  try {
    return await use(store.tokens);
  } finally {
    await store.close();
  }
}

interface TokenRow {
  readonly name: string;
  readonly state: "in force" | "expired" | "revoked";
  readonly created: string;
  readonly expires: string | null;
  readonly revoked: string | null;
}

function rowOf(token: TokenRecord): TokenRow {
  const { name, createdAt, expiresAt, revokedAt } = token;
  const ended = revokedAt === null ? "expired" : "revoked";
  return {
    name,
    state: isAccepted(token, Date.now()) ? "in force" : ended,
    created: iso(createdAt),
    expires: expiresAt === null ? null : iso(expiresAt),
    revoked: revokedAt === null ? null : iso(revokedAt),
  };
}

function tableOf(rows: readonly TokenRow[]): string[] {
  const header = ["NAME", "STATE", "CREATED", "EXPIRES", "REVOKED"];
  return columnLines([header, ...rows.map((row) => Object.values(row).map((cell) => cell ?? "-"))]);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
