package kitchen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// groupmock is a mock cluster for all tests of the package: a process that starts before the first and ends after the last.
var groupmock struct{ Bootstrap, Control string }

func TestMain(m *testing.M) {
	// $GROUPMOCK may name the command, here: "/opt/venv/bin/groupmock", "python3 -m groupmock".
	program := strings.Fields(os.Getenv("GROUPMOCK"))
	if len(program) == 0 {
		program = []string{"groupmock"}
	}
	words := append(program[1:], "serve", "--port", "0", "--control", "0", "--log", "off", "--topic", "orders:4")
	server := exec.Command(program[0], words...)
	server.Stderr = os.Stderr
	stdout, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		panic(err)
	}
	ready, _ := bufio.NewReader(stdout).ReadBytes('\n') // one line of JSON, when it answers
	if json.Unmarshal(ready, &groupmock) != nil {
		panic("groupmock did not start; it has said above why")
	}
	code := m.Run()
	server.Process.Signal(os.Interrupt)
	server.Wait()
	os.Exit(code)
}

// fresh gives the test an empty cluster, and prints the story of its groups if the test fails.
func fresh(t *testing.T) {
	t.Helper()
	post(t, "/v1/reset")
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		var groups []struct {
			ID string `json:"group_id"`
		}
		get(t, "/v1/groups", &groups)
		for _, group := range groups {
			var details struct{ Story []string }
			get(t, "/v1/groups/"+group.ID, &details)
			t.Log(strings.Join(details.Story, "\n"))
		}
	})
}

// get reads from the control API. If the API refuses, the test fails with its error.
func get(t *testing.T, path string, answer any) {
	t.Helper()
	ask(t, "GET", path, nil, answer)
}

// post sends JSON or JSON Lines to the control API.
func post(t *testing.T, path string, lines ...any) {
	t.Helper()
	var body bytes.Buffer
	for _, line := range lines {
		if err := json.NewEncoder(&body).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	ask(t, "POST", path, &body, nil)
}

func ask(t *testing.T, method, path string, body io.Reader, answer any) {
	t.Helper()
	request, err := http.NewRequest(method, groupmock.Control+path, body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		var refusal struct{ Error string }
		json.NewDecoder(response.Body).Decode(&refusal)
		t.Fatalf("%s %s: %s: %s", method, path, response.Status, refusal.Error)
	}
	if answer != nil {
		if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
			t.Fatal(err)
		}
	}
}
