// POST /plants as a Go programmer writes it: net/http, modernc.org/sqlite, and a goroutine that commits all plants that
// have arrived in one transaction. Serves on 127.0.0.1 until SIGTERM.
package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	_ "modernc.org/sqlite"
)

const (
	batchPlantsMax = 1_000
	bodyBytesMax   = 1 << 20
)

type plant struct {
	Name *string `json:"name"`
	Tag  *string `json:"tag,omitempty"`
}

type newPlant struct {
	ID *int64 `json:"id"`
	plant
}

type apiError struct {
	Error   int    `json:"error"`
	Message string `json:"message"`
}

var errTaken = errors.New("the id is taken")

// create is a plant for the goroutine that commits, and where it sends nil once it is stored.
type create struct {
	newPlant
	outcome chan error
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func handler(token string, queue chan<- create) http.HandlerFunc {
	expected := sha256.Sum256([]byte(token))
	return func(w http.ResponseWriter, r *http.Request) {
		given, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !isBearer || sha256.Sum256([]byte(given)) != expected {
			respond(w, http.StatusUnauthorized, apiError{40100, "Unauthorized"})
			return
		}
		request := create{outcome: make(chan error, 1)}
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyBytesMax)).Decode(&request.newPlant)
		if err != nil || request.ID == nil || request.Name == nil {
			respond(w, http.StatusBadRequest, apiError{40002, "This is not a plant"})
			return
		}
		queue <- request
		switch err := <-request.outcome; {
		case errors.Is(err, errTaken):
			respond(w, http.StatusBadRequest, apiError{40009, fmt.Sprintf("The id %d is taken", *request.ID)})
		case err != nil:
			respond(w, http.StatusServiceUnavailable, apiError{50300, "The plant may not be stored"})
		default:
			respond(w, http.StatusOK, request.plant)
		}
	}
}

type statements struct{ insert, find *sql.Stmt }

// commitBatches commits plants until the queue is closed. Requests that arrive during a commit form the next one.
func commitBatches(database *sql.DB, prepared statements, queue <-chan create) {
	for first := range queue {
		batch := []create{first}
		for len(batch) < batchPlantsMax && len(queue) > 0 {
			batch = append(batch, <-queue)
		}
		outcomes, err := commit(database, prepared, batch)
		for index, request := range batch {
			if err != nil {
				request.outcome <- err
			} else {
				request.outcome <- outcomes[index]
			}
		}
	}
}

func commit(database *sql.DB, prepared statements, batch []create) ([]error, error) {
	transaction, err := database.Begin()
	if err != nil {
		return nil, err
	}
	defer transaction.Rollback()
	insert, find := transaction.Stmt(prepared.insert), transaction.Stmt(prepared.find)
	outcomes := make([]error, len(batch))
	for index, request := range batch {
		result, err := insert.Exec(request.ID, request.Name, request.Tag)
		if err != nil {
			return nil, err
		}
		if rows, err := result.RowsAffected(); err != nil {
			return nil, err
		} else if rows == 1 {
			continue
		}
		var found int
		err = find.QueryRow(request.ID, request.Name, request.Tag).Scan(&found)
		if errors.Is(err, sql.ErrNoRows) {
			outcomes[index] = errTaken
		} else if err != nil {
			return nil, err
		}
	}
	return outcomes, transaction.Commit()
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	pragmas := "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
	database := must(sql.Open("sqlite", "file:"+os.Getenv("DATABASE")+pragmas))
	database.SetMaxOpenConns(1)
	must(database.Exec("CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT"))
	prepared := statements{
		insert: must(database.Prepare("INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")),
		find:   must(database.Prepare("SELECT 1 FROM plants WHERE id = ? AND name = ? AND tag IS ?")),
	}
	queue := make(chan create, batchPlantsMax)
	committed := make(chan struct{})
	go func() {
		commitBatches(database, prepared, queue)
		close(committed)
	}()

	mux := http.NewServeMux()
	mux.Handle("POST /plants", handler(os.Getenv("TOKEN"), queue))
	server := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), Handler: mux}
	terminated, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
	<-terminated.Done()
	_ = server.Shutdown(context.Background())
	close(queue)
	<-committed
	must(0, database.Close())
}
