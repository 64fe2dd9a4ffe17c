// What the members in Go have in common: the wish they are given, the events they tell; the protocol is told in ../../../README.md.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
)

type wish struct {
	Bootstrap, Group, Topic, Name, Assignor string
	Instance                                *string
	SessionMs                               int `json:"session_ms"`
	HeartbeatMs                             int `json:"heartbeat_ms"`
}

var mouth sync.Mutex

func say(event string, facts map[string]any) {
	mouth.Lock()
	defer mouth.Unlock()
	line := map[string]any{"event": event}
	for name, value := range facts {
		line[name] = value
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func must(err error) {
	if err != nil {
		say("failed", map[string]any{"why": err.Error()})
		os.Exit(1)
	}
}

// version of a library, as this binary was built with it.
func version(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, each := range info.Deps {
			if each.Path == path {
				return each.Version
			}
		}
	}
	return "unknown"
}
