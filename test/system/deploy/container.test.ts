// The compose file of deploy/container: the image of this version, with settings that exist.

import { expect, test } from "bun:test";
import { YAML } from "bun";
import packageJson from "../../../package.json";
import { readEnvironment } from "../../../src/process/config/sources.ts";

interface Compose {
  readonly services: {
    readonly plantstore: {
      readonly image: string;
      readonly user: string;
      readonly environment: Readonly<Record<string, string>>;
    };
  };
}

const container = new URL("../../../deploy/container/", import.meta.url).pathname;

test("the compose file runs this version's image as its user, with settings that exist", async () => {
  const compose = YAML.parse(await Bun.file(`${container}compose.yaml`).text()) as Compose;
  const { image, user, environment } = compose.services.plantstore;
  expect(image).toBe(`plantstore:${packageJson.version}`);
  expect(await Bun.file(`${container}Containerfile`).text()).toContain(`USER ${user}`);
  // Throws for an unknown one.
  readEnvironment(environment);
});
