// PocketBase with one collection whose rules let everybody in, and a token before it: SQLite, one transaction a
// change. Serves on 127.0.0.1 until SIGTERM.
package main

import (
	"log"
	"os"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

func main() {
	app := pocketbase.NewWithConfig(pocketbase.Config{
		DefaultDataDir:  os.Getenv("DATABASE"),
		HideStartBanner: true,
	})
	app.OnServe().BindFunc(func(event *core.ServeEvent) error {
		plants := core.NewBaseCollection("plants")
		plants.Fields.Add(&core.TextField{Name: "name", Required: true}, &core.TextField{Name: "tag"})
		open := types.Pointer("")
		plants.ListRule, plants.ViewRule, plants.CreateRule = open, open, open
		plants.UpdateRule, plants.DeleteRule = open, open
		if err := app.Save(plants); err != nil {
			return err
		}
		expected := "Bearer " + os.Getenv("TOKEN")
		event.Router.BindFunc(func(request *core.RequestEvent) error {
			if request.Request.Header.Get("Authorization") != expected {
				return request.UnauthorizedError("Unauthorized", nil)
			}
			return request.Next()
		})
		return event.Next()
	})
	os.Args = []string{os.Args[0], "serve", "--http", "127.0.0.1:" + os.Getenv("PORT")}
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}
