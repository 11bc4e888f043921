// The image of deploy/container and its compose file: linted, built by buildah, and run by podman
// as in production.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { YAML } from "bun";
import packageJson from "../../../package.json";
import { build, executableName, hostTarget } from "../../../scripts/build.ts";
import { readEnvironment } from "../../../src/cli/config/sources.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { reservePort } from "../../support/ports.ts";
import { describeUnless, pathOf, programPath } from "../../support/programs.ts";
import { type CommandResult, runIn, TemporaryFolder } from "../../support/server.ts";

const testMsMax = 120_000;
const container = new URL("../../../deploy/container/", import.meta.url).pathname;
const compose = YAML.parse(await Bun.file(`${container}compose.yaml`).text()) as {
  readonly services: {
    readonly plantstore: {
      readonly image: string;
      readonly user: string;
      readonly environment: Readonly<Record<string, string>>;
    };
  };
};
const service = compose.services.plantstore;

test("the compose file runs this version's image, with settings that exist", () => {
  expect(service.image).toBe(`plantstore:${packageJson.version}`);
  // Throws for an unknown one.
  readEnvironment(service.environment);
});

/**
 * The base of the Containerfile, which is not downloaded by a test. Without a registry:
 * mmdebstrap --variant=essential bookworm | podman import - docker.io/library/debian:bookworm-slim
 */
const base = "docker.io/library/debian:bookworm-slim";

/**
 * Limits that an unprivileged container on this machine may have: podman's defaults can be higher.
 */
const limits = ["--ulimit=nofile=4096:4096", "--ulimit=nproc=1024:1024"];

/**
 * The runtime that podman can use here: crun does not run on hybrid control groups, for example.
 */
function findRuntime(): string | undefined {
  return ["crun", "runc"].find((runtime) => {
    const run = ["run", "--rm", "--pull=never", "--network=host", ...limits, base, "true"];
    return (
      pathOf(runtime) !== null &&
      spawnSync(programPath("podman"), ["--runtime", runtime, ...run]).status === 0
    );
  });
}

function missing(): string | undefined {
  if (process.platform !== "linux") return "needs Linux";
  for (const program of ["buildah", "podman"]) if (pathOf(program) === null) return `install ${program}`;
  if (spawnSync(programPath("podman"), ["image", "exists", base]).status !== 0) return `podman pull ${base}`;
  return runtime === undefined ? "podman runs no container here" : undefined;
}

const runtime = pathOf("podman") === null ? undefined : findRuntime();

describeUnless(missing(), "image", () => {
  let folder: TemporaryFolder;
  const image = `localhost/plantstore-test:${process.pid}`;
  const podman = (...args: string[]): Promise<CommandResult> =>
    runIn("/", [programPath("podman"), ...(runtime === undefined ? [] : ["--runtime", runtime]), ...args]);
  const succeed = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await podman(...args);
    expect(exitCode, stderr).toBe(0);
    return stdout.trimEnd();
  };

  beforeAll(async () => {
    // Here, since the hooks of skipped tests do not run.
    folder = new TemporaryFolder();
    const target = hostTarget();
    await build(target, folder.file(executableName(target)));
    const { exitCode, stderr } = await runIn("/", [
      ...[programPath("buildah"), "build", "--isolation=chroot", "--pull-never", "--format=docker"],
      ...[`--build-arg=EXECUTABLE=${executableName(target)}`, `--file=${container}Containerfile`],
      ...[`--tag=${image}`, folder.path],
    ]);
    expect(exitCode, stderr).toBe(0);
  }, testMsMax);
  afterAll(async () => {
    await podman("image", "rm", "--force", image);
    folder[Symbol.dispose]();
  });

  /** Hardened, and with the ports of the host, where other tests run. */
  const options = (environment: Readonly<Record<string, string | number>>) => [
    ...["--network=host", "--read-only", "--cap-drop=all", "--security-opt=no-new-privileges", ...limits],
    ...Object.entries({
      ...environment,
      PLANTSTORE_PORT: reservePort(),
      PLANTSTORE_ADMIN_PORT: reservePort(),
    }).map(([name, value]) => `--env=${name}=${value}`),
  ];

  test(
    "with a read-only root: healthy, a token, a create; stopped, and another container has the plant",
    async () => {
      const name = `plantstore-test-${process.pid}`;
      const volume = `--volume=${name}:/var/lib/plantstore`;
      const common = options({ PLANTSTORE_BOOTSTRAP_TOKEN: "off" });
      const port = common.find((text) => text.startsWith("--env=PLANTSTORE_PORT="))?.split("=")[2];
      try {
        await succeed("run", "--detach", `--name=${name}`, volume, ...common, image);
        await succeed("exec", name, "plantstore", "ready", "--wait-seconds-max=60");
        await succeed("healthcheck", "run", name);
        const token = await succeed("exec", name, "plantstore", "token", "create", "--name=ci");
        const id = freshId();
        const target = { url: `http://127.0.0.1:${port}`, token };
        expect((await post(target, plantJson(id, "Monstera"))).status).toBe(200);
        await succeed("stop", "--time=30", name);
        expect(await succeed("inspect", "--format={{.State.ExitCode}}", name)).toBe("0");
        expect(await succeed("logs", name)).not.toContain("pst_");
        const get = ["get", String(id)];
        expect(await succeed("run", "--rm", volume, ...options({}), image, ...get)).toContain("Monstera");
      } finally {
        await podman("rm", "--force", name);
        await podman("volume", "rm", "--force", name);
      }
    },
    testMsMax,
  );
});
