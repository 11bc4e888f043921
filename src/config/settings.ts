// Every setting once: its flag, its environment name, its default and its meaning. The README's table is held
// against this one by a test.

import { commandSettings } from "./command-settings.ts";
import { consoleSettings } from "./console-settings.ts";
import { identitySettings } from "./identity-settings.ts";
import { limitSettings } from "./limit-settings.ts";
import { listenerSettings } from "./listener-settings.ts";
import { observingSettings } from "./observing-settings.ts";
import type { Setting } from "./setting.ts";
import { storeSettings } from "./store-settings.ts";

const serverSettings = {
  ...listenerSettings,
  ...consoleSettings,
  ...storeSettings,
  ...identitySettings,
  ...limitSettings,
  ...observingSettings,
};

export const settings = {
  ...serverSettings,
  ...commandSettings,
};

export type SettingName = keyof typeof settings;
export type SettingValue<Name extends SettingName> =
  (typeof settings)[Name] extends Setting<infer Value> ? Value : never;

/** What `serve` is configured with, and `plantstore config` shows. */
export const serverSettingNames = Object.keys(serverSettings) as readonly (keyof typeof serverSettings)[];
