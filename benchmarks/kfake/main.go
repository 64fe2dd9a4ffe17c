// A Kafka in memory to measure groupmock against: franz-go's kfake, one broker, announced in one JSON line.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	runtime.GOMAXPROCS(1) // as everything that is measured: one core
	cluster, err := kfake.NewCluster(kfake.Ports(0), kfake.NumBrokers(1), kfake.SeedTopics(60, "settle"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	line, _ := json.Marshal(map[string]any{"ready": true, "bootstrap": cluster.ListenAddrs()[0], "pid": os.Getpid()})
	fmt.Println(string(line))
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	cluster.Close()
}
