// A client that docs/client.md tells to generate: its commands are run on a running server's
// description, and the client is compiled, creates a plant with an id past 2^53, and reads a
// conflict and a rejected token. Skipped where a toolchain is missing or its registry cannot be
// reached. openapi-fetch is in test/integration/client.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { addressesOf, installOnce, readGuide, runScriptOrThrow } from "../../support/guide.ts";
import { describeUnless, pathOf, toolsMissing } from "../../support/programs.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { TemporaryFolder } from "../../support/server.ts";

const oapiCodegen = "github.com/oapi-codegen/oapi-codegen/v2@v2.8.2";
const guide = await readGuide("docs/client.md");

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
let sandbox: RunningSandbox;
beforeAll(async () => {
  sandbox = resources.use(await RunningSandbox.start());
});
beforeEach(() => sandbox.control("POST", "/reset"));
afterAll(() => resources.disposeAsync());

/** The commands of the document that contain a text, for the sandbox. */
function commands(contains: string): string {
  return guide.block("sh", contains, addressesOf(sandbox));
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
}

const clients: readonly GeneratedClient[] = [
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
];

for (const [index, { name, missing: reason, generate, files, compile, run }] of clients.entries())
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
      expect(await sandbox.plants()).toEqual([{ id: exactId, name: "Monstera deliciosa", tag: "tropical" }]);
    });
  });
