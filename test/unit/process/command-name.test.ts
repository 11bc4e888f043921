// Commands are named as they can be typed where the program was called.

import { expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { commandName } from "../../../src/process/command-name.ts";
import { TemporaryFolder } from "../../support/server.ts";

test.each([
  [undefined, "plantstore"],
  ["bin/plantstore", "bin/plantstore"],
  ["./bin/plantstore", "./bin/plantstore"],
  ["/opt/plantstore/bin/plantstore", "bin/plantstore"],
  ["/opt/plantstore-linux-x64", "plantstore-linux-x64"],
  ["../my store/bin/plantstore", "'../my store/bin/plantstore'"],
  ["/home/me/shop/node_modules/.bin/plantstore", "npx plantstore"],
  ["node_modules/.bin/plantstore", "npx plantstore"],
  [
    "/home/me/shop/.yarn/unplugged/plantstore-file-1/node_modules/plantstore/bin/plantstore",
    "yarn plantstore",
  ],
  ["my store's/bin/plantstore", String.raw`'my store'\''s/bin/plantstore'`],
])("called as %p it is typed %p", (path, name) => {
  const environment = path === undefined ? {} : { _PLANTSTORE_CALLED_AS: path };
  expect(commandName({ ...environment, PATH: "/usr/bin" })).toBe(name);
});

test("what PATH leads to is called by its name alone", () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plantstore");
  writeFileSync(path, "#!/bin/sh\n");
  chmodSync(path, 0o755);
  expect(commandName({ _PLANTSTORE_CALLED_AS: path, PATH: `/usr/bin:${folder.path}` })).toBe("plantstore");
  expect(commandName({ _PLANTSTORE_CALLED_AS: path, PATH: "/usr/bin" })).toBe("plantstore");
});
