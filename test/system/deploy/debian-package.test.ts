// The Debian package of `npm run build:deb`: checked by lintian, and installed, upgraded, removed
// and purged on a copy of this machine.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { basename } from "node:path";
import { build, hostTarget } from "../../../scripts/build.ts";
import { buildDeb } from "../../../scripts/build-deb.ts";
import { eventually } from "../../support/eventually.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { describeIfInstalled, pathOf, programPath } from "../../support/programs.ts";
import { RunningServer, runIn, TemporaryFolder } from "../../support/server.ts";

const testMsMax = 120_000;
const target = hostTarget();
const program = "/usr/bin/plantstore";

/** Mounts an overlay of this machine's files, whose changes are in memory, on $1/root. */
const mountOverlay = `set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"`;

const mountSystemFiles = `mount -t proc proc "$1/root/proc"
mount --bind /dev "$1/root/dev"`;

/**
 * Boots the overlay with systemd, without this machine's services, network, and images' ban on
 * starting services.
 */
const bootOverlay = `${mountOverlay}
rm -f "$1/root/usr/sbin/policy-rc.d"
exec systemd-nspawn --quiet --register=no --keep-unit --private-network --directory="$1/root" --machine="$2"`;

/** Why there can be no copy of this machine. */
function missing(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "a mount needs root on Linux";
  using folder = new TemporaryFolder();
  const { status } = spawnSync(programPath("unshare"), [
    "--mount",
    "sh",
    "-c",
    `${mountOverlay}\n${mountSystemFiles}`,
    "sh",
    folder.path,
  ]);
  return status === 0 ? undefined : "an overlay cannot be mounted";
}

/**
 * A copy of this machine's files in the mount namespace of a process, which ends with it.
 *
 * @param enter the prefix of a command in the copy.
 */
function machineCopy(
  folder: TemporaryFolder,
  { pid }: Bun.Subprocess,
  end: () => Promise<unknown>,
  enter?: readonly string[],
) {
  // In the namespace, but not in the copy.
  const outside = [programPath("nsenter"), "--mount", `--target=${pid}`];
  const inside = enter ?? [...outside, "chroot", folder.file("root")];
  const run = (...command: string[]) => runIn("/", [...inside, ...command]);
  /** As run(), and throws if the command fails. */
  const succeed = async (...command: string[]) => {
    const { exitCode, stdout, stderr } = await run(...command);
    expect(exitCode, stderr + stdout).toBe(0);
    return stdout.trimEnd();
  };
  return {
    run,
    succeed,
    /** The prefix of a command that runs in the copy as a user. */
    as: (user: string) => [...inside, "setpriv", `--reuid=${user}`, `--regid=${user}`, "--init-groups"],
    async install(file: string): Promise<void> {
      await runIn("/", [...outside, "cp", file, folder.file("root/package.deb")]);
      await succeed("dpkg", "--install", "--force-unsafe-io", "--no-triggers", "/package.deb");
    },
    /** What differs from this machine and has a name that contains the text. */
    async changedFiles(text: string): Promise<string[]> {
      const find = ["find", folder.file("upper"), "-name", `*${text}*`, "-not", "-type", "c"];
      return (await runIn("/", [...outside, ...find])).stdout.split("\n").filter((path) => path !== "");
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await end();
      folder[Symbol.dispose]();
    },
  };
}

async function mountCopy() {
  const folder = new TemporaryFolder();
  // Keeps the namespace until its input ends.
  const script = `${mountOverlay}\n${mountSystemFiles}\necho mounted\nexec cat`;
  const child = Bun.spawn([programPath("unshare"), "--mount", "sh", "-c", script, "sh", folder.path], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  await child.stdout.getReader().read();
  return machineCopy(folder, child, () => {
    child.stdin.end();
    return child.exited;
  });
}

/** A copy that systemd has booted, with a network of its own. */
async function bootCopy() {
  const folder = new TemporaryFolder();
  const script = `${bootOverlay} --boot systemd.unit=basic.target`;
  const nspawn = Bun.spawn(
    [programPath("unshare"), "--mount", "sh", "-c", script, "sh", folder.path, basename(folder.path)],
    { stdin: "ignore", stdout: "ignore", stderr: "ignore" },
  );
  const children = Bun.file(`/proc/${nspawn.pid}/task/${nspawn.pid}/children`);
  const copy = await eventually("systemd has booted, or cannot", async () => {
    if (nspawn.exitCode !== null) return "cannot";
    // The process id of its init on this machine.
    const init = (await children.text()).trim();
    if (!/^\d+$/.test(init)) return undefined;
    const end = () => {
      // Ends everything in it.
      process.kill(Number(init), "SIGKILL");
      return nspawn.exited;
    };
    const enter = [programPath("nsenter"), `--target=${init}`, "--all", "--wdns=/"];
    const booting = machineCopy(folder, nspawn, end, enter);
    const { stdout } = await booting.run("systemctl", "is-system-running");
    return /^(?:running|degraded)\n/.test(stdout) ? booting : undefined;
  });
  if (typeof copy !== "object") throw new Error("systemd did not boot the copy");
  return copy;
}

/** Why no copy of this machine can be booted. */
function missingBoot(): string | undefined {
  const reason = missing();
  if (reason !== undefined) return reason;
  if (pathOf("systemd-nspawn") === null) return "install systemd-container";
  if (pathOf("curl") === null) return "install curl";
  using folder = new TemporaryFolder();
  const script = `${bootOverlay} true`;
  const args = ["--mount", "sh", "-c", script, "sh", folder.path, basename(folder.path)];
  return spawnSync(programPath("unshare"), args).status === 0 ? undefined : "systemd-nspawn cannot run";
}

function suite(): void {
  const folder = new TemporaryFolder();
  let packages: readonly [installed: string, rebuilt: string, upgrade: string];
  beforeAll(async () => {
    if (target !== "linux-x64" && target !== "linux-arm64") throw new Error(`no package for ${target}`);
    const executable = await build(target, folder.file("plantstore"));
    const create = (name: string, version: string) => {
      mkdirSync(folder.file(name));
      return buildDeb({ target, executable, version, compression: "none" }, folder.file(name));
    };
    delete process.env.DEBFULLNAME;
    delete process.env.DEBEMAIL;
    const [first, rebuilt] = [await create("a", "0.1.0-rc.1"), await create("b", "0.1.0-rc.1")];
    process.env.DEBFULLNAME = "Ada Lovelace";
    process.env.DEBEMAIL = "ada@plants.test";
    packages = [first, rebuilt, await create("c", "0.1.0")];
  }, testMsMax);
  afterAll(() => folder[Symbol.dispose]());

  test("two builds are equal, and its files are root's", async () => {
    const [first, second] = packages;
    expect(Bun.SHA256.hash(await Bun.file(first).bytes(), "hex")).toBe(
      Bun.SHA256.hash(await Bun.file(second).bytes(), "hex"),
    );
    const { stdout } = await runIn("/", [programPath("dpkg-deb"), "--contents", first]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.filter((line) => !/^[d-]\S+ root\/root /.test(line))).toEqual([]);
    expect(lines.map((line) => line.replace(/.* /, "")).filter((path) => !path.endsWith("/"))).toEqual([
      "./etc/plantstore/a.env",
      "./lib/systemd/system/plantstore@.service",
      "./usr/bin/plantstore",
      "./usr/sbin/plantstorectl",
      "./usr/share/bash-completion/completions/plantstore",
      "./usr/share/doc/plantstore/changelog.Debian.gz",
      "./usr/share/doc/plantstore/changelog.gz",
      "./usr/share/doc/plantstore/copyright",
      "./usr/share/fish/vendor_completions.d/plantstore.fish",
      "./usr/share/lintian/overrides/plantstore",
      "./usr/share/man/man1/plantstore.1.gz",
      "./usr/share/man/man8/plantstorectl.8.gz",
      "./usr/share/zsh/vendor-completions/_plantstore",
    ]);
  });

  test("its maintainer is this project, or the one that the builder's environment names", async () => {
    const [first, , upgrade] = packages;
    const read = async (file: string) =>
      (await runIn("/", [programPath("dpkg-deb"), "--field", file, "Maintainer"])).stdout;
    expect(await read(first)).toBe("Plant Store developers <plantstore@example.com>\n");
    expect(await read(upgrade)).toBe("Ada Lovelace <ada@plants.test>\n");
  });

  describeIfInstalled("lintian", "lintian", () => {
    test(
      "reports nothing but the overrides that are named",
      async () => {
        const options = [
          "--display-info",
          "--pedantic",
          "--fail-on=error,warning,info,pedantic",
          "--allow-root",
        ];
        // As built for these tests.
        const uncompressed = ["control", "data"].map((part) => `uses-no-compression-for-${part}-tarball`);
        const suppressed = ["--suppress-tags", uncompressed.join(",")];
        const { exitCode, stdout } = await runIn("/", [
          ...[programPath("lintian"), ...options, ...suppressed],
          packages[0],
        ]);
        expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "" });
      },
      testMsMax,
    );
  });

  const reason = missing();
  test.skipIf(reason !== undefined)(
    `installed, its user starts it and creates; upgraded under the running server; removed, and purged, the store remains; without it nothing does${reason === undefined ? "" : ` (skipped: ${reason})`}`,
    async () => {
      await using machine = await mountCopy();
      const version = async () =>
        (await machine.succeed("dpkg-query", "--show", "plantstore")).replace(/^.*\t/, "");
      const [first, , upgrade] = packages;

      // As where an image is built.
      await machine.succeed("umount", "/proc");
      await machine.install(first);
      await machine.succeed("mount", "-t", "proc", "proc", "/proc");
      expect(await version()).toBe("0.1.0~rc.1-1");
      expect(await machine.succeed("dpkg", "--verify", "plantstore")).toBe("");
      expect(await machine.succeed("systemctl", "is-enabled", "plantstore@a.service")).toBe("enabled");
      const modes = ["/etc/plantstore", "/etc/plantstore/database", "/var/lib/plantstore"];
      expect(await machine.succeed("stat", "--format=%A %U %G", ...modes)).toBe(
        ["drwxr-x--- root plantstore", "-rw-r----- root plantstore", "drwx------ plantstore plantstore"].join(
          "\n",
        ),
      );

      // systemd does not run in the copy: started as by the unit, on free ports.
      const serve = () =>
        RunningServer.start({
          database: "sqlite:/var/lib/plantstore/plants.db",
          args: ["--bootstrap-token", "off"],
          under: machine.as("plantstore"),
          program,
        });
      await using server = await serve();
      const issued = await machine.succeed("plantstorectl", "token", "create", "--name", "ci");
      const shown = await machine.succeed("plantstorectl", "config", "--json");
      expect(shown).toContain('{"name":"PLANTSTORE_PORT","value":8080,"source":"config file"}');
      const asUser = await runIn("/", [...machine.as("plantstore"), "plantstorectl", "stats"]);
      expect(asUser).toMatchObject({ exitCode: 1, stderr: "plantstorectl: run it as root\n" });
      const other = await machine.run("env", "PLANTSTORE_INSTANCE=c", "plantstorectl", "stats");
      expect(other).toMatchObject({
        exitCode: 2,
        stderr: "plantstorectl: PLANTSTORE_INSTANCE is c, but there is no /etc/plantstore/c.env\n",
      });
      const missing = await machine.run("plantstorectl", "get", "1");
      expect(missing).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining("no plant with the id 1"),
      });
      const id = freshId();
      const create = (url: string) =>
        post({ url, token: issued.trim() }, plantJson(id, "Monstera")).then(({ status }) => status);
      expect(await create(server.url)).toBe(200);

      await machine.succeed("sh", "-c", "echo PLANTSTORE_ACCESS_LOG=0 >>/etc/plantstore/a.env");
      await machine.install(upgrade);
      expect(await version()).toBe("0.1.0-1");
      expect(await machine.succeed("cat", "/etc/plantstore/a.env")).toContain("PLANTSTORE_ACCESS_LOG=0");
      expect(await create(server.url)).toBe(200);
      expect((await server.stop()).exitCode).toBe(0);
      await using upgraded = await serve();
      expect(await create(upgraded.url)).toBe(200);
      expect((await upgraded.stop()).exitCode).toBe(0);

      await machine.succeed("dpkg", "--remove", "plantstore");
      expect(await machine.run("test", "-e", program)).toMatchObject({ exitCode: 1 });
      const kept = ["/etc/plantstore/a.env", "/etc/plantstore/database", "/var/lib/plantstore/plants.db"];
      await machine.succeed("ls", ...kept);

      // Installed again, the store is as it was.
      await machine.install(upgrade);
      const get = [program, "get", String(id), "--database", "sqlite:/var/lib/plantstore/plants.db"];
      const { stdout: plant } = await runIn("/", [...machine.as("plantstore"), ...get]);
      expect(JSON.parse(plant)).toMatchObject({ name: "Monstera" });

      await machine.succeed("sh", "-c", "echo PLANTSTORE_PORT=8082 >/etc/plantstore/b.env");
      await machine.succeed("dpkg", "--remove", "plantstore");
      const purgedWithStore = await machine.run("/var/lib/dpkg/info/plantstore.postrm", "purge");
      expect(purgedWithStore).toMatchObject({
        exitCode: 0,
        stderr: expect.stringContaining("rm -r /var/lib/plantstore && deluser --system plantstore"),
      });
      await machine.succeed("ls", "/var/lib/plantstore/plants.db");
      await machine.succeed("getent", "passwd", "plantstore");

      await machine.succeed("rm", "-r", "/var/lib/plantstore");
      // A process of the user, which cannot be removed then.
      await using process = Bun.spawn([...machine.as("plantstore"), "sleep", "infinity"]);
      const purgedBeside = await machine.run("/var/lib/dpkg/info/plantstore.postrm", "purge");
      expect(purgedBeside).toMatchObject({
        exitCode: 0,
        stderr: expect.stringContaining("deluser --system plantstore"),
      });
      process.kill();
      await process.exited;

      await machine.succeed("dpkg", "--purge", "plantstore");
      expect(await machine.changedFiles("plantstore")).toEqual([]);
      expect((await machine.run("getent", "passwd", "plantstore")).exitCode).toBe(2);
    },
    testMsMax,
  );

  const reasonBoot = missingBoot();
  test.skipIf(reasonBoot !== undefined)(
    `under systemd the package starts the server, restarts it after an upgrade, and stops it for good${reasonBoot === undefined ? "" : ` (skipped: ${reasonBoot})`}`,
    async () => {
      await using machine = await bootCopy();
      const [first, , upgrade] = packages;
      const unit = "plantstore@a";
      const pid = () => machine.succeed("systemctl", "show", "--property=MainPID", "--value", unit);

      await machine.install(first);
      expect(await machine.succeed("systemctl", "is-active", unit)).toBe("active");
      const token = await machine.succeed("plantstorectl", "token", "create", "--name", "first");
      const create = () =>
        machine.succeed(
          ...["curl", "--silent", "--show-error", "--fail", "http://127.0.0.1:8080/plants"],
          ...["--header", `Authorization: Bearer ${token}`, "--header", "Content-Type: application/json"],
          ...["--data", plantJson(1n, "Monstera")],
        );
      expect(JSON.parse(await create())).toEqual({ name: "Monstera" });

      const before = await pid();
      await machine.install(upgrade);
      expect(await machine.succeed("systemctl", "is-active", unit)).toBe("active");
      expect(await pid()).not.toBe(before);
      expect(JSON.parse(await create())).toEqual({ name: "Monstera" });

      await machine.succeed("dpkg", "--purge", "plantstore");
      expect((await machine.run("systemctl", "is-active", unit)).stdout).toBe("inactive\n");
      expect((await machine.run("ls", "/var/lib/plantstore/plants.db")).exitCode).toBe(0);
    },
    testMsMax,
  );
}

describeIfInstalled("dpkg-deb", "Debian package", suite, "dpkg");
