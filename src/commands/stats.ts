// plantstore stats: how large the store is, and who may create.

import { Command } from "commander";
import { isActive } from "../auth/token.ts";
import { settingOf, withSettings } from "../config/command-config.ts";
import { printError, printLines, tellWaiting } from "../output.ts";
import { openStore } from "../store/open-store.ts";
import type { ReadablePlantStore } from "../store/plant-store.ts";

export function statsCommand(): Command {
  const command = new Command("stats")
    .description("print the number of plants, the size on disk, the tokens and the schema version")
    .addHelpText("after", "\nThe plants are counted, one by one: that takes about a second for 10 million.");
  return withSettings(command, ["json", "database"]).action(async () => {
    const store = await openStore(settingOf(command, "database"), "existing", printError, {
      report: tellWaiting,
    });
    try {
      const stats = await statsOf(store);
      await printLines(settingOf(command, "json") ? [JSON.stringify(stats)] : tableOf(stats));
    } finally {
      await store.close();
    }
  });
}

async function statsOf(store: ReadablePlantStore) {
  const { plants, bytes, schemaVersion } = await store.size();
  const all = await store.tokens.list();
  const inForce = all.filter((token) => isActive(token, Date.now())).length;
  const revoked = all.filter(({ revokedAt }) => revokedAt !== null).length;
  const tokens = { inForce, expired: all.length - inForce - revoked, revoked };
  return { engine: store.engine, plants, bytesOnDisk: bytes ?? null, tokens, schemaVersion };
}

function tableOf({
  engine,
  plants,
  bytesOnDisk,
  tokens,
  schemaVersion,
}: Awaited<ReturnType<typeof statsOf>>) {
  const rows: readonly [string, string][] = [
    ["engine", engine],
    ["plants", plants.toLocaleString("en")],
    ["size on disk", bytesOnDisk === null ? "unknown" : `${bytesOnDisk.toLocaleString("en")} bytes`],
    ["tokens", `${tokens.inForce} in force, ${tokens.expired} expired, ${tokens.revoked} revoked`],
    ["schema version", String(schemaVersion)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}
