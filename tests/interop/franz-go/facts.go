package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"
)

const (
	patience = 15 * time.Second
	limit    = 55 * time.Second
)

// facts is what was seen, printed as one JSON line; a mismatch ends the run with the step's name.
type facts struct {
	mu    sync.Mutex
	seen  map[string]any
	step  string
	began time.Time
}

func newFacts(client, assignor string) *facts {
	f := &facts{seen: map[string]any{"driver": "franz-go", "client": client, "assignor": assignor}, began: time.Now()}
	time.AfterFunc(limit, func() { f.end(fmt.Sprintf("still running after %v", limit)) })
	return f
}

func (f *facts) at(step string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step = step
}

func (f *facts) put(name string, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[name] = value
}

// same notes actual under name and insists that it equals expected.
func (f *facts) same(name string, expected, actual any) {
	f.put(name, actual)
	if !reflect.DeepEqual(expected, actual) {
		f.end(fmt.Sprintf("%s: expected %v, got %v", name, expected, actual))
	}
}

// must ends the run on an error.
func (f *facts) must(err error) {
	if err != nil {
		f.end(err.Error())
	}
}

// await polls until done; the deadline's message carries what was last seen.
func (f *facts) await(what string, done func() bool, last func() any) {
	end := time.Now().Add(patience)
	for !done() {
		if time.Now().After(end) {
			f.end(fmt.Sprintf("%s: not within %v; last seen: %v", what, patience, last()))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// end prints the line and leaves: status 0 only for an empty failure.
func (f *facts) end(failure string) {
	f.mu.Lock() // never unlocked: nobody prints a second line
	f.seen["ms"] = time.Since(f.began).Milliseconds()
	f.seen["ok"] = failure == ""
	if failure != "" {
		f.seen["failed"] = f.step + ": " + failure
	}
	line, err := json.Marshal(f.seen)
	if err != nil {
		line = []byte(fmt.Sprintf(`{"driver": "franz-go", "ok": false, "failed": %q}`, err))
	}
	fmt.Println(string(line))
	if failure != "" {
		os.Exit(1)
	}
	os.Exit(0)
}
