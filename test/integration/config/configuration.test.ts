// Where settings come from: flags, variables, files that variables name, a configuration file, defaults. What
// `plantstore config` prints by default is golden/; a changed default is made golden by running it again.

import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { type SettingName, serverSettingNames, settings } from "../../../src/config/settings.ts";
import { configured, refusedWith } from "../../support/configuration.ts";
import { plantJson, post } from "../../support/http.ts";
import { Output } from "../../support/output.ts";
import { plantstore, run, TemporaryFolder } from "../../support/server.ts";

const golden = (name: string) => Bun.file(new URL(`golden/${name}`, import.meta.url)).text();

test("the defaults are those of the golden files, as a table and as JSON", async () => {
  expect(await run(["config"])).toEqual({ exitCode: 0, stdout: await golden("config.txt"), stderr: "" });
  expect(await run(["config", "--json"])).toEqual({
    exitCode: 0,
    stdout: await golden("config.ndjson"),
    stderr: "",
  });
});

/** A value for each setting that has no default, or must fit another; the others are given their default. */
const samples: Partial<Record<SettingName, string>> = {
  publicUrl: "https://plants.example/v1",
  adminPasswordHash: `$argon2id$v=19$m=65536,t=2,p=1$${"a".repeat(43)}$${"b".repeat(43)}`,
  adminNames: "console.plants.example",
  trustedProxies: "10.0.0.0/8,::1",
  tokenRate: "5",
  tokenBurst: "10",
  tlsCertificate: "live.crt",
  tlsKey: "live.key",
  otlpEndpoint: "http://127.0.0.1:4318",
  jwtIssuer: "https://id.example/",
  jwtAudience: "urn:example:plants",
  jwksUrl: "https://id.example/keys",
};

const given = serverSettingNames.map((name) => {
  const { flag, environment } = settings[name];
  const fallback: unknown = settings[name].default;
  const text = samples[name] ?? String(fallback ?? "");
  return { flag: flag.split(" ")[0] ?? "", environment, text };
});

test("every setting of the server can come from every source", async () => {
  using folder = new TemporaryFolder();
  const lines = given.map(({ environment, text }) => `${environment}="${text}"`);
  writeFileSync(folder.file("plantstore.env"), lines.join("\n"));
  const fileVariables = given.map(({ environment, text }) => {
    writeFileSync(folder.file(environment), `${text}\n`);
    return [`${environment}_FILE`, folder.file(environment)];
  });
  const bySource = {
    flag: configured(given.flatMap(({ flag, text }) => [flag, text])),
    environment: configured(
      [],
      Object.fromEntries(given.map(({ environment, text }) => [environment, text])),
    ),
    "config file": configured(["--config", folder.file("plantstore.env")]),
  };
  for (const [source, rows] of Object.entries(bySource)) {
    for (const { environment } of given) expect((await rows).get(environment)?.source).toBe(source);
  }
  const rows = await configured([], Object.fromEntries(fileVariables));
  for (const { environment } of given) expect(rows.get(environment)?.source).toBe(`${environment}_FILE`);
});

/** The ways to give a port, the one that goes first first, each with another port. */
const ways = ["flag", "environment", "PLANTSTORE_PORT_FILE", "config file", "default"] as const;
type Way = (typeof ways)[number];
const ports: Readonly<Record<Way, number>> = {
  flag: 1001,
  environment: 1002,
  PLANTSTORE_PORT_FILE: 1003,
  "config file": 1004,
  default: 8080,
};

/** The port that is in force where it is given in these ways, and in no other. */
async function portGiven(folder: TemporaryFolder, given: readonly Way[]): Promise<unknown> {
  writeFileSync(folder.file("port"), `${ports.PLANTSTORE_PORT_FILE}\n`);
  writeFileSync(folder.file("plantstore.env"), `PLANTSTORE_PORT=${ports["config file"]}\n`);
  const env = {
    ...(given.includes("environment") ? { PLANTSTORE_PORT: String(ports.environment) } : {}),
    ...(given.includes("PLANTSTORE_PORT_FILE") ? { PLANTSTORE_PORT_FILE: folder.file("port") } : {}),
  };
  const args = [
    ...(given.includes("flag") ? ["--port", String(ports.flag)] : []),
    ...(given.includes("config file") ? ["--config", folder.file("plantstore.env")] : []),
  ];
  return (await configured(args, env)).get("PLANTSTORE_PORT");
}

const pairs = ways
  .flatMap((first, index) => ways.slice(index + 1).map((second): [Way, Way] => [first, second]))
  .filter((pair) => pair.join() !== "environment,PLANTSTORE_PORT_FILE");
test.each(pairs)("%s goes before %s", async (first, second) => {
  using folder = new TemporaryFolder();
  expect(await portGiven(folder, [second, first])).toEqual({ value: ports[first], source: first });
});

test("a variable and the one that names its file, both given, are an error, in each place", async () => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("port"), "1");
  writeFileSync(folder.file("both.env"), "PLANTSTORE_PORT=1\nPLANTSTORE_PORT_FILE=port\n");
  const both = { PLANTSTORE_PORT: "1", PLANTSTORE_PORT_FILE: folder.file("port") };
  const line = "PLANTSTORE_PORT and PLANTSTORE_PORT_FILE are both set; keep one of them";
  expect(await run(["config"], both)).toEqual(refusedWith(line));
  expect(await run(["config", "--port", "1"], both)).toEqual(refusedWith(line));
  const file = folder.file("both.env");
  expect(await run(["config", "--config", file])).toEqual(refusedWith(`${file}, line 1: ${line}`));
});

test("what the environment gives in either form goes before either form in the file", async () => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("one"), "1");
  writeFileSync(folder.file("two"), "2");
  writeFileSync(
    folder.file("plantstore.env"),
    `PLANTSTORE_PORT_FILE=${folder.file("one")}\nPLANTSTORE_ADMIN_PORT=1\nPLANTSTORE_TOKEN_RATE_FILE='${folder.file("one")}'\n`,
  );
  const rows = await configured(["--config", folder.file("plantstore.env")], {
    PLANTSTORE_PORT: "2",
    PLANTSTORE_ADMIN_PORT_FILE: folder.file("two"),
  });
  expect(rows.get("PLANTSTORE_PORT")).toEqual({ value: 2, source: "environment" });
  expect(rows.get("PLANTSTORE_ADMIN_PORT")).toEqual({ value: 2, source: "PLANTSTORE_ADMIN_PORT_FILE" });
  expect(rows.get("PLANTSTORE_TOKEN_RATE")).toEqual({
    value: 1,
    source: "config file, PLANTSTORE_TOKEN_RATE_FILE",
  });
});

test("the configuration file is named by its flag, or by its variable", async () => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("one.env"), "PLANTSTORE_PORT=1");
  writeFileSync(folder.file("two.env"), "PLANTSTORE_PORT=2");
  const env = { PLANTSTORE_CONFIG: folder.file("two.env") };
  const byVariable = await configured([], env);
  expect(byVariable.get("PLANTSTORE_PORT")).toEqual({ value: 2, source: "config file" });
  expect(byVariable.get("PLANTSTORE_CONFIG")).toEqual({
    value: folder.file("two.env"),
    source: "environment",
  });
  const byFlag = await configured(["--config", folder.file("one.env")], env);
  expect(byFlag.get("PLANTSTORE_PORT")).toEqual({ value: 1, source: "config file" });
});

test("one trailing newline of a variable's file is dropped, and no more", async () => {
  using folder = new TemporaryFolder();
  const hostIn = async (text: string) => {
    writeFileSync(folder.file("host"), text);
    return (await configured([], { PLANTSTORE_HOST_FILE: folder.file("host") })).get("PLANTSTORE_HOST")
      ?.value;
  };
  expect(await hostIn("a")).toBe("a");
  expect(await hostIn("a\n")).toBe("a");
  expect(await hostIn("a\r\n")).toBe("a");
  expect(await hostIn("\uFEFFa\n")).toBe("a");
  expect(await hostIn(" a \n\n")).toBe(" a \n");
});

const wrongNames: readonly [name: string, advice: string][] = [
  ["PLANTSTORE_PROT", "did you mean PLANTSTORE_PORT?"],
  ["PLANTSTORE_DATABASE_URL", "did you mean PLANTSTORE_DATABASE?"],
  ["PLANTSTORE_DATABSE_FILE", "did you mean PLANTSTORE_DATABASE_FILE?"],
  ["PLANTSTORE_DATABASE_FLIE", "did you mean PLANTSTORE_DATABASE_FILE?"],
  ["PLANTSTORE_CONFIG_FILE", "did you mean PLANTSTORE_CONFIG?"],
  ["PLANTSTORE_port", "did you mean PLANTSTORE_PORT?"],
  ["PLANTSTORE_", '"plantstore config" shows those of the server'],
  ["PLANTSTORE_COLOUR", '"plantstore config" shows those of the server'],
];
test.each(wrongNames)("%s is no setting, and the near one is named", async (name, advice) => {
  using folder = new TemporaryFolder();
  const file = folder.file("plantstore.env");
  writeFileSync(file, `\n# A comment.\n${name}=1\n`);
  const line = `${name} is no setting; ${advice}`;
  expect(await run(["serve"], { [name]: "1" })).toEqual(refusedWith(line));
  expect(await run(["export", "--config", file])).toEqual(refusedWith(`${file}, line 3: ${line}`));
});

test("a misspelt flag is named with the near one", async () => {
  expect(await run(["config", "--prot", "1"])).toEqual(
    refusedWith("unknown option '--prot' (Did you mean --port?) Run with --help for the usage."),
  );
});

test("what another command uses, what the tests are told, and other variables are no error", async () => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("plantstore.env"), "PLANTSTORE_TOKEN_NAME=ci\nPLANTSTORE_QUIET=on\n");
  const env = { PLANTSTORE_TOKEN_EXPIRES: "90d", PLANTSTORE_TEST_URL: "x", PLANT_STORE: "x", PORT: "x" };
  await configured(["--config", folder.file("plantstore.env")], env);
});

test("a wrong value is reported with the name of its source", async () => {
  using folder = new TemporaryFolder();
  const port = folder.file("port");
  writeFileSync(port, "eighty\n");
  const file = folder.file("plantstore.env");
  writeFileSync(file, 'PLANTSTORE_HOST=127.0.0.1\nPLANTSTORE_PORT="x"\n');
  const must = "It must be a whole number from 0 to 65535.";
  for (const command of ["config", "serve"]) {
    expect(await run([command, "--port", "x"])).toEqual(refusedWith(`--port says "x": ${must}`));
    expect(await run([command], { PLANTSTORE_PORT: "x" })).toEqual(
      refusedWith(`PLANTSTORE_PORT says "x": ${must}`),
    );
    expect(await run([command], { PLANTSTORE_PORT_FILE: port })).toEqual(
      refusedWith(`PLANTSTORE_PORT_FILE: ${port} cannot be used: ${must}`),
    );
    expect(await run([command, "--config", file])).toEqual(
      refusedWith(`${file}, line 2: PLANTSTORE_PORT says "x": ${must}`),
    );
  }
  expect(await run(["config"], { PLANTSTORE_PORT: `\n\u001b[31m${"9".repeat(200)}` })).toEqual(
    refusedWith(`PLANTSTORE_PORT says "\\n\\u001b[31m${"9".repeat(54)}…": ${must}`),
  );
});

test("settings that do not fit together are judged as the server judges them", async () => {
  for (const env of [{ PLANTSTORE_TOKEN_BURST: "5" }, { PLANTSTORE_IN_FLIGHT_BYTES_MAX: "5" }]) {
    const refusal = await run(["serve"], env);
    expect(refusal).toMatchObject({ exitCode: 2, stdout: "" });
    expect(await run(["config"], env)).toEqual(refusal);
  }
});

test("a switch may say on or off in every source, and nothing else", async () => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("plantstore.env"), "PLANTSTORE_JSON=on\n");
  const config = ["config", "--config", folder.file("plantstore.env")];
  expect((await run(config)).stdout).toStartWith("{");
  expect((await run(config, { PLANTSTORE_JSON: "off" })).stdout).toStartWith("SETTING");
  expect((await run([...config, "--json"], { PLANTSTORE_JSON: "off" })).stdout).toStartWith("{");
  expect(await run(config, { PLANTSTORE_JSON: "perhaps" })).toEqual(
    refusedWith('PLANTSTORE_JSON says "perhaps": It must be on or off.'),
  );
});

test("a file that cannot be read is named with the reason", async () => {
  using folder = new TemporaryFolder();
  const none = folder.file("none");
  const missing = `${none} cannot be read (ENOENT: no such file or directory)`;
  expect(await run(["config", "--config", none])).toEqual(refusedWith(`--config: ${missing}`));
  expect(await run(["config"], { PLANTSTORE_CONFIG: none })).toEqual(
    refusedWith(`PLANTSTORE_CONFIG: ${missing}`),
  );
  expect(await run(["config"], { PLANTSTORE_DATABASE_FILE: none })).toEqual(
    refusedWith(`PLANTSTORE_DATABASE_FILE: ${missing}`),
  );
  expect(await run(["config"], { PLANTSTORE_DATABASE_FILE: "" })).toEqual(
    refusedWith("PLANTSTORE_DATABASE_FILE is empty; it must name a file"),
  );
  const file = folder.file("plantstore.env");
  writeFileSync(file, `PLANTSTORE_DATABASE_FILE=${folder.path}\n`);
  expect(await run(["config", "--config", file])).toEqual(
    refusedWith(
      `${file}, line 1: PLANTSTORE_DATABASE_FILE: ${folder.path} cannot be read (EISDIR: illegal operation on a directory)`,
    ),
  );
});

test("every command takes the settings that it uses from the configuration file", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plantstore.env");
  writeFileSync(
    file,
    `PLANTSTORE_DATABASE=sqlite:${folder.file("plants.db")}\nPLANTSTORE_TOKEN_NAME=from-file\nPLANTSTORE_QUIET=on\nPLANTSTORE_JSON=on\nPLANTSTORE_PORT=9\n`,
  );
  writeFileSync(folder.file("plants.ndjson"), plantJson(1n, "Monstera"));
  const succeeds = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await run([...args, "--config", file]);
    expect({ args, exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({
      args,
      exitCode: 0,
      stderr: "",
    });
    return { stdout, stderr };
  };
  await succeeds("migrate");
  expect((await succeeds("token", "create")).stderr).toStartWith('Token "from-file" is issued');
  expect(JSON.parse((await succeeds("token", "list")).stdout)).toMatchObject({ name: "from-file" });
  await succeeds("token", "revoke", "from-file");
  expect((await succeeds("import", folder.file("plants.ndjson"))).stderr).toBe("");
  expect((await succeeds("get", "1")).stdout).toBe('{"id":1,"name":"Monstera"}\n');
  expect((await succeeds("export")).stdout).toBe('{"id":1,"name":"Monstera"}\n');
});

test("files of the folder where it runs are not read unless they are named", async () => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file(".env"), "PLANTSTORE_PORT=1\n");
  writeFileSync(folder.file("bunfig.toml"), 'preload = ["./foreign.ts"]\n');
  writeFileSync(folder.file("foreign.ts"), 'process.stdout.write("foreign code\\n");\n');
  const { PATH = "" } = process.env;
  const child = Bun.spawn([plantstore, "config"], { cwd: folder.path, env: { PATH }, stdout: "pipe" });
  expect(await child.stdout.text()).toBe(await golden("config.txt"));
});

test("in a pod: a mounted secret, a mounted configuration, and what Kubernetes sets for Services", async () => {
  using folder = new TemporaryFolder();
  // As the kubelet mounts them, so that it can change all of a volume's files at once.
  const database = `sqlite:${folder.file("plants.db")}`;
  mkdirSync(folder.file("..2026_11_21"));
  writeFileSync(folder.file("..2026_11_21/database"), database);
  writeFileSync(
    folder.file("..2026_11_21/plantstore.env"),
    "PLANTSTORE_BASE_PATH=/shop\nPLANTSTORE_ADMIN_PORT=off\n",
  );
  symlinkSync("..2026_11_21", folder.file("..data"));
  for (const name of ["database", "plantstore.env"]) symlinkSync(`..data/${name}`, folder.file(name));
  const env = {
    PATH: process.env.PATH ?? "",
    PLANTSTORE_CONFIG: folder.file("plantstore.env"),
    PLANTSTORE_DATABASE_FILE: folder.file("database"),
    ...serviceVariables("PLANTSTORE", "10.96.0.12", "8080"),
    ...serviceVariables("PLANTSTORE_ADMIN", "[fd00::12]", "8081"),
  };
  expect((await configured([], env)).get("PLANTSTORE_PORT")).toEqual({ value: 8080, source: "default" });

  const server = Bun.spawn([plantstore, "serve", "--port", "0"], { env, stdout: "pipe", stderr: "ignore" });
  const url = await new Output(server.stdout).until((text) => /^(.+)\n/.exec(text)?.[1]);
  expect(url).toEndWith("/shop");
  const token = (await run(["token", "create", "--name", "ci"], env)).stdout.trim();
  expect((await post({ url, token }, plantJson(1n, "Monstera"))).status).toBe(200);
  server.kill();
  expect(await server.exited).toBe(0);
  expect((await run(["get", "1", "--database", database])).exitCode).toBe(0);
});

test("what only looks like a Service's variable is a setting, or none", async () => {
  const port = { PLANTSTORE_PORT: "tcp://10.96.0.12:8080" };
  expect((await run(["config"], port)).stderr).toContain('PLANTSTORE_PORT says "tcp://10.96.0.12:8080"');
  const service = { PLANTSTORE_SERVICE_HOST: "10.96.0.12", PLANTSTORE_SERVICE_PORT: "8080" };
  expect((await configured([], { ...service, PLANTSTORE_PORT: "9" })).get("PLANTSTORE_PORT")?.value).toBe(9);
  expect((await run(["config"], { ...service, PLANTSTORE_PORTS: "9" })).stderr).toContain("is no setting");
});

/** The variables of a Service with one port that has a name, as the kubelet sets them. */
function serviceVariables(service: string, host: string, port: string): Record<string, string> {
  const address = `tcp://${host}:${port}`;
  return {
    [`${service}_SERVICE_HOST`]: host,
    [`${service}_SERVICE_PORT`]: port,
    [`${service}_SERVICE_PORT_HTTP`]: port,
    [`${service}_PORT`]: address,
    [`${service}_PORT_${port}_TCP`]: address,
    [`${service}_PORT_${port}_TCP_PROTO`]: "tcp",
    [`${service}_PORT_${port}_TCP_PORT`]: port,
    [`${service}_PORT_${port}_TCP_ADDR`]: host,
  };
}
