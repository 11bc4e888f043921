// POST /plants as a PocketBase application: a collection "plants", and a route that saves a record of it. Serves on
// 127.0.0.1 until SIGTERM. SYNCHRONOUS is the setting of SQLite; PocketBase comes with NORMAL, which does not wait for
// the disk.
package main

import (
	"crypto/sha256"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
)

type newPlant struct {
	ID   *int64  `json:"id"`
	Name *string `json:"name"`
	Tag  *string `json:"tag"`
}

type plant struct {
	Name string  `json:"name"`
	Tag  *string `json:"tag,omitempty"`
}

func main() {
	database := os.Getenv("DATABASE")
	app := pocketbase.NewWithConfig(pocketbase.Config{
		DefaultDataDir:  database + "-data",
		HideStartBanner: true,
		// The plants are in the file that the benchmark names. The settings are those of core.DefaultDBConnect.
		DBConnect: func(path string) (*dbx.DB, error) {
			if filepath.Base(path) == "data.db" {
				path = database
			}
			return dbx.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"+
				"&_pragma=journal_size_limit(200000000)&_pragma=synchronous("+os.Getenv("SYNCHRONOUS")+")"+
				"&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)")
		},
	})
	app.OnServe().BindFunc(func(event *core.ServeEvent) error {
		// Without the page that asks for a first superuser.
		event.InstallerFunc = nil
		collection, err := createCollection(event.App)
		if err != nil {
			return err
		}
		event.Router.POST("/plants", create(collection)).BindFunc(authenticate(os.Getenv("TOKEN")))
		return event.Next()
	})
	app.RootCmd.SetArgs([]string{"serve", "--http=127.0.0.1:" + os.Getenv("PORT")})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

// createCollection returns the collection of plants. The id of a record, which is text, has the digits of the plant's.
func createCollection(app core.App) (*core.Collection, error) {
	collection := core.NewBaseCollection("plants")
	collection.Fields.Add(
		&core.TextField{Name: "id", System: true, PrimaryKey: true, Required: true, Pattern: "^[0-9]+$", Max: 19},
		&core.TextField{Name: "name", Required: true},
		&core.TextField{Name: "tag"},
	)
	return collection, app.Save(collection)
}

func authenticate(token string) func(*core.RequestEvent) error {
	expected := sha256.Sum256([]byte(token))
	return func(event *core.RequestEvent) error {
		given, isBearer := strings.CutPrefix(event.Request.Header.Get("Authorization"), "Bearer ")
		if !isBearer || sha256.Sum256([]byte(given)) != expected {
			return event.UnauthorizedError("", nil)
		}
		return event.Next()
	}
}

func create(collection *core.Collection) func(*core.RequestEvent) error {
	return func(event *core.RequestEvent) error {
		var body newPlant
		if err := event.BindBody(&body); err != nil || body.ID == nil || body.Name == nil {
			return event.BadRequestError("This is not a plant", err)
		}
		record := core.NewRecord(collection)
		record.Set("id", strconv.FormatInt(*body.ID, 10))
		record.Set("name", *body.Name)
		if body.Tag != nil {
			record.Set("tag", *body.Tag)
		}
		// Also where the id is taken: ids are validated as unique.
		if err := event.App.Save(record); err != nil {
			return event.BadRequestError("The plant was not stored", err)
		}
		return event.JSON(http.StatusOK, plant{*body.Name, body.Tag})
	}
}
