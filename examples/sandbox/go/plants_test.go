package plants

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

var sandbox struct{ PlantsURL, Token, ControlURL string }

func TestMain(m *testing.M) {
	os.Exit(runWithSandbox(m))
}

func runWithSandbox(m *testing.M) int {
	command := exec.Command("plantstore", "sandbox", "--port", "0", "--admin-port", "0",
		"--exit-with-parent", "--log-level", "warn")
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		panic(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := command.Start(); err != nil {
		panic(err)
	}
	defer command.Wait()
	defer stdin.Close()
	// The first line is the base URL; the others are labels with their values.
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		switch row := strings.Fields(lines.Text()); row[0] {
		case "Interface":
			sandbox.PlantsURL = row[1]
		case "Token":
			sandbox.Token = row[1]
		case "Control":
			sandbox.ControlURL = row[1]
		case "Store":
			return m.Run()
		}
	}
	panic("the sandbox did not start")
}

type plant struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Tag  string `json:"tag,omitempty"`
}

func send(method, url, body string) (*http.Response, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+sandbox.Token)
	request.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(request)
}

// control calls the control interface, and decodes the response into a value, if there is one.
func control(t *testing.T, method, path, body string, value any) {
	t.Helper()
	response, err := send(method, sandbox.ControlURL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		t.Fatal(response.Status)
	}
	if value == nil {
		return
	}
	if err := json.NewDecoder(response.Body).Decode(value); err != nil {
		t.Fatal(err)
	}
}

func TestIDIsExact(t *testing.T) {
	control(t, "POST", "/reset", "", nil)
	created, err := send("POST", sandbox.PlantsURL, `{"id": 9007199254740993, "name": "Monstera deliciosa"}`)
	if err != nil || created.StatusCode != 200 {
		t.Fatal(created, err)
	}
	var stored struct{ Resources []plant }
	control(t, "GET", "/plants", "", &stored)
	if len(stored.Resources) != 1 || stored.Resources[0] != (plant{9007199254740993, "Monstera deliciosa", ""}) {
		t.Fatal(stored.Resources)
	}
}

func TestCreateStillWaitsWhenItsTestEnds(t *testing.T) {
	control(t, "POST", "/reset", "", nil)
	control(t, "POST", "/rules", `{"outcome": {"delay": {"seconds": 0.2}}}`, nil)
	// The reset closes the connection.
	go send("POST", sandbox.PlantsURL, `{"id": 2, "name": "Monstera deliciosa"}`)
	var list struct{ Rules []struct{ Applied int } }
	for len(list.Rules) == 0 || list.Rules[0].Applied == 0 {
		control(t, "GET", "/rules", "", &list)
	}
}

func TestItIsNotInTheNextTestAfterAReset(t *testing.T) {
	control(t, "POST", "/reset", "", nil)
	time.Sleep(400 * time.Millisecond)
	var stored struct {
		Resources []plant
		Requests  []any
	}
	control(t, "GET", "/plants", "", &stored)
	control(t, "GET", "/requests", "", &stored)
	if len(stored.Resources) != 0 || len(stored.Requests) != 0 {
		t.Fatal(stored)
	}
}
