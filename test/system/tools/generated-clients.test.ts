// The client for Go that docs/client.md tells to generate, from the description of a sandbox with
// all operations: it is compiled, and calls each operation with an id past 2^53.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { addressesOf, readGuide, runScript, runScriptOrThrow } from "../../support/guide.ts";
import { describeUnless, pathOf, toolsMissing } from "../../support/programs.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { TemporaryFolder } from "../../support/server.ts";

const guide = await readGuide("docs/client.md");

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
const sandbox = resources.use(await RunningSandbox.start({ args: ["--operations", "create,list,delete"] }));
afterAll(() => resources.disposeAsync());

/** Why the client cannot be generated here; undefined if it can. */
async function missing(): Promise<string | undefined> {
  if (toolsMissing !== undefined) return toolsMissing;
  if (pathOf("go") === null) return "install golang-go";
  const fetch = "go mod download github.com/oapi-codegen/oapi-codegen/v2@v2.8.2";
  return (await runScript(fetch, folder.path)).exitCode === 0
    ? undefined
    : "go cannot download the generator";
}

const program = `package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"example.com/plants/plants"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	}
	client, err := plants.NewClientWithResponses(os.Args[1], plants.WithRequestEditorFn(authorize))
	check(err)
	const id int64 = 9007199254740993
	created, err := client.CreatePlantWithResponse(ctx, plants.NewPlant{Id: id, Name: "Monstera"})
	check(err)
	fmt.Println(created.StatusCode(), created.JSON200.Name)
	conflict, err := client.CreatePlantWithResponse(ctx, plants.NewPlant{Id: id, Name: "Ficus"})
	check(err)
	fmt.Println(conflict.StatusCode(), conflict.JSON400.Error)
	limit, after := int32(1), id-1
	listed, err := client.ListPlantsWithResponse(ctx, &plants.ListPlantsParams{Limit: &limit, After: &after})
	check(err)
	fmt.Println(listed.StatusCode(), len(*listed.JSON200), (*listed.JSON200)[0].Name)
	deleted, err := client.DeletePlantWithResponse(ctx, id)
	check(err)
	fmt.Println(deleted.StatusCode())
}
`;

describeUnless(await missing(), "oapi-codegen, for Go", () => {
  test("its client compiles, and calls all operations", async () => {
    const place = folder.file("client");
    mkdirSync(place);
    await runScriptOrThrow(guide.block("sh", "oapi-codegen@", addressesOf(sandbox)), place);
    await Bun.write(`${place}/main/main.go`, program);
    const output = await runScriptOrThrow(`go run ./main ${sandbox.url} ${sandbox.token}`, place);
    expect(output).toBe("200 Monstera\n400 40009\n200 1 Monstera\n204\n");
    expect(await sandbox.resources()).toEqual([]);
  });
});
