// The clients that docs/client.md tells to generate: its commands are run on a running server's
// description, and each client is compiled, creates a plant with an id past 2^53, and reads a
// conflict and a rejected token. Skipped where a toolchain is missing or its registry cannot be
// reached. openapi-fetch is in test/integration/client.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { addressesOf, installOnce, readGuide, runScriptOrThrow, toolFolder } from "../../support/guide.ts";
import { npxMissing } from "../../support/npm-packages.ts";
import { describeUnless, pathOf, toolsMissing } from "../../support/programs.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { TemporaryFolder } from "../../support/server.ts";

const oapiCodegen = "github.com/oapi-codegen/oapi-codegen/v2@v2.8.2";
const openapiGenerator = "org.openapitools:openapi-generator-cli:7.25.0";
const guide = await readGuide("docs/client.md");

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
const javaFolder = toolFolder("java");
const jar = `${javaFolder}/openapi-generator-cli-7.25.0.jar`;
let sandbox: RunningSandbox;
beforeAll(async () => {
  sandbox = resources.use(await RunningSandbox.start());
});
beforeEach(() => sandbox.control("POST", "/reset"));
afterAll(() => resources.disposeAsync());

/** The commands of the document that contain a text, for the sandbox. */
function commands(contains: string): string {
  return guide.block("sh", contains, [
    ...addressesOf(sandbox),
    ["openapi-generator-cli", `java -jar ${jar}`],
  ]);
}

/** Why a client cannot be generated here; undefined if it can. */
async function missing(
  programs: readonly (readonly [program: string, debianPackage: string])[],
  fetch: string,
  cwd = folder.path,
): Promise<string | undefined> {
  if (toolsMissing !== undefined) return toolsMissing;
  for (const [program, debianPackage] of programs)
    if (pathOf(program) === null) return `install ${debianPackage}`;
  const isInstalled = await installOnce(fetch, cwd);
  return isInstalled ? undefined : `${programs[0]?.[0]} cannot download the generator`;
}

const exactId = 9007199254740993n;

interface GeneratedClient {
  readonly name: string;
  /** Why it cannot be generated here; undefined if it can. */
  readonly missing: string | undefined;
  /** The documented command. Called when the sandbox has started. */
  readonly generate: () => string;
  /** A program that uses the client, by its files. */
  readonly files: Readonly<Record<string, string>>;
  readonly compile?: string;
  /** Runs the program with the address, a token and the name of a plant, and prints the outcome. */
  readonly run: string;
  /** The largest id that it can send, if that is not any. */
  readonly id?: bigint;
}

const heyApi = "@hey-api/openapi-ts@0.95.0";
const types = new URL("../../../node_modules/@types", import.meta.url).pathname;
const withoutOpenapiGenerator = await missing(
  [
    ["mvn", "maven"],
    ["java", "default-jre-headless"],
  ],
  [
    "mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy",
    `-Dartifact=${openapiGenerator} -DoutputDirectory=${javaFolder}`,
  ].join(" "),
  javaFolder,
);
const withoutGo = pathOf("go") === null ? "install golang-go" : undefined;
const withoutCargo = pathOf("cargo") === null ? "install cargo" : undefined;
const javaClassPath = "plants/target/openapi-java-client-1.0.0.jar:plants/target/lib/*";
const pythonFolder = toolFolder("python");
const withoutPython = await missing(
  [["python3", "python3"]],
  guide.block("sh", "pip install openapi-python-client"),
  pythonFolder,
);

const clients: readonly GeneratedClient[] = [
  {
    name: "@hey-api/openapi-ts, for TypeScript",
    missing: toolsMissing ?? (await npxMissing(heyApi)),
    generate: () => commands(heyApi),
    files: {
      "create.ts": `import { createPlant } from "./plants";
import { client } from "./plants/client.gen";

const [, , baseUrl = "", token = "", name = ""] = process.argv;
client.setConfig({ baseUrl, auth: () => token });
const { data, error, response } = await createPlant({ body: { id: ${Number.MAX_SAFE_INTEGER}, name, tag: "tropical" } });
if (data !== undefined) console.log(response.status, data.name, data.tag);
else console.log(response?.status, error.error);
`,
    },
    compile: `npx --package=typescript@5.9.3 -- tsc --strict --noEmit --skipLibCheck --target esnext --module esnext --moduleResolution bundler --typeRoots ${types} --types bun create.ts`,
    run: `"${process.execPath}" create.ts`,
    id: BigInt(Number.MAX_SAFE_INTEGER),
  },
  {
    name: "oapi-codegen, for Go",
    missing: await missing([["go", "golang-go"]], `go mod download ${oapiCodegen}`),
    generate: () => commands("oapi-codegen@"),
    files: {
      "create/main.go": `package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"example.com/plants/plants"
)

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	}
	client, err := plants.NewClientWithResponses(os.Args[1], plants.WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	tag := "tropical"
	plant := plants.NewPlant{Id: ${exactId}, Name: os.Args[3], Tag: &tag}
	response, err := client.CreatePlantWithResponse(context.Background(), plant)
	switch {
	case err != nil:
		log.Fatal(err)
	case response.JSON200 != nil:
		fmt.Println(response.StatusCode(), response.JSON200.Name, *response.JSON200.Tag)
	case response.JSON400 != nil:
		fmt.Println(response.StatusCode(), response.JSON400.Error)
	default:
		fmt.Println(response.StatusCode(), response.JSON401.Error)
	}
}
`,
    },
    compile: "go build -o program ./create",
    run: "./program",
  },
  {
    name: "openapi-generator, for Go",
    missing: withoutOpenapiGenerator ?? withoutGo,
    generate: () => commands("generate -g go"),
    files: {
      "plants/create/main.go": `package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	plants "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func main() {
	configuration := plants.NewConfiguration()
	configuration.Servers = plants.ServerConfigurations{{URL: os.Args[1]}}
	client := plants.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), plants.ContextAccessToken, os.Args[2])
	plant := plants.NewPlantCreate(os.Args[3], ${exactId})
	plant.SetTag("tropical")
	created, response, err := client.PlantsAPI.CreatePlant(ctx).PlantCreate(*plant).Execute()
	var failure *plants.GenericOpenAPIError
	switch {
	case err == nil:
		fmt.Println(response.StatusCode, created.Name, created.GetTag())
	case errors.As(err, &failure):
		answer := failure.Model().(plants.Error)
		fmt.Println(response.StatusCode, answer.Error)
	default:
		log.Fatal(err)
	}
}
`,
    },
    compile: "cd plants && go build -o program ./create",
    run: "plants/program",
  },
  {
    name: "openapi-generator, for Java",
    missing: withoutOpenapiGenerator,
    generate: () => commands("generate -g java").replace("mvn ", "mvn --quiet --batch-mode "),
    files: {
      "Create.java": `import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.PlantsApi;
import org.openapitools.client.model.NewPlant;
import org.openapitools.client.model.Plant;

class Create {
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(arguments[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + arguments[1]));
    NewPlant plant = new NewPlant().id(${exactId}L).name(arguments[2]).tag("tropical");
    try {
      Plant created = new PlantsApi(client).createPlant(plant);
      System.out.println("200 " + created.getName() + " " + created.getTag());
    } catch (ApiException failure) {
      var error = client.getObjectMapper().readValue(failure.getResponseBody(), org.openapitools.client.model.Error.class);
      System.out.println(failure.getCode() + " " + error.getError());
    }
  }
}
`,
    },
    compile: `javac -cp '${javaClassPath}' -d . Create.java`,
    run: `java -cp '${javaClassPath}:.' Create`,
  },
  {
    name: "openapi-generator, for Rust",
    missing: withoutOpenapiGenerator ?? withoutCargo,
    generate: () => commands("generate -g rust"),
    files: {
      "Cargo.toml": `[package]
name = "create"
version = "0.1.0"
edition = "2021"

[dependencies]
plants = { path = "plants", default-features = false }
serde_json = "1"
tokio = { version = "1", features = ["macros", "rt"] }
`,
      "src/main.rs": `use plants::apis::configuration::Configuration;
use plants::apis::{plants_api, Error};
use plants::models::{self, NewPlant};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let configuration = Configuration {
        base_path: arguments[1].clone(),
        bearer_access_token: Some(arguments[2].clone()),
        ..Default::default()
    };
    let plant = NewPlant {
        tag: Some("tropical".to_string()),
        ..NewPlant::new(arguments[3].clone(), ${exactId})
    };
    match plants_api::create_plant(&configuration, plant).await {
        Ok(created) => println!("200 {} {}", created.name, created.tag.unwrap()),
        Err(Error::ResponseError(response)) => {
            let error: models::Error = serde_json::from_str(&response.content).unwrap();
            println!("{} {}", response.status.as_u16(), error.error);
        }
        Err(error) => panic!("{error}"),
    }
}
`,
    },
    compile: `CARGO_TARGET_DIR=${toolFolder("rust")} cargo build --quiet`,
    run: `${toolFolder("rust")}/debug/create`,
  },
  {
    name: "openapi-python-client",
    missing: withoutPython,
    // With ruff, by which it formats the client.
    generate: () =>
      `export PATH="${pythonFolder}/python/bin:$PATH"
${commands("openapi-python-client generate").replace("python/bin/", "")}`,
    files: {
      "create.py": `import sys

from plants import AuthenticatedClient
from plants.api.plants import create_plant
from plants.models import NewPlant, Plant

_, url, token, name = sys.argv
client = AuthenticatedClient(base_url=url, token=token)
plant = NewPlant(id=${exactId}, name=name, tag="tropical")
response = create_plant.sync_detailed(client=client, body=plant)
if isinstance(response.parsed, Plant):
    print(int(response.status_code), response.parsed.name, response.parsed.tag)
else:
    print(int(response.status_code), response.parsed.error)
`,
    },
    run: `${pythonFolder}/python/bin/python create.py`,
  },
];

for (const [
  index,
  { name, missing: reason, generate, files, compile, run, id = exactId },
] of clients.entries())
  describeUnless(reason, name, () => {
    test("its client compiles, and creates plants", async () => {
      const place = folder.file(`client-${index}`);
      mkdirSync(place);
      await runScriptOrThrow(generate(), place);
      for (const [file, source] of Object.entries(files)) await Bun.write(`${place}/${file}`, source);
      if (compile !== undefined) await runScriptOrThrow(compile, place);
      const outcome = (token: string, plant: string) =>
        runScriptOrThrow(`${run} ${sandbox.url} ${token} '${plant}'`, place);
      expect(await outcome(sandbox.token, "Monstera deliciosa")).toBe("200 Monstera deliciosa tropical\n");
      expect(await outcome(sandbox.token, "Ficus lyrata")).toBe("400 40009\n");
      expect(await outcome("wrong", "Ficus lyrata")).toBe("401 40101\n");
      expect(await sandbox.plants()).toEqual([{ id, name: "Monstera deliciosa", tag: "tropical" }]);
    });
  });
