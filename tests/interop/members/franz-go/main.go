// A member that is a franz-go consumer; the protocol is told in ../../README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var assignors = map[string]kgo.GroupBalancer{
	"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(),
	"sticky": kgo.StickyBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

// holding is what the member holds, told at every change.
type holding struct {
	sync.Mutex
	owned map[int32]bool
}

func (h *holding) change(partitions map[string][]int32, keep bool) {
	h.Lock()
	defer h.Unlock()
	for _, each := range partitions {
		for _, partition := range each {
			if keep {
				h.owned[partition] = true
			} else {
				delete(h.owned, partition)
			}
		}
	}
	held := make([]int, 0, len(h.owned))
	for partition := range h.owned {
		held = append(held, int(partition))
	}
	sort.Ints(held)
	say("holds", map[string]any{"partitions": held})
}

func open(w wish) *kgo.Client {
	h := &holding{owned: map[int32]bool{}}
	gained := func(_ context.Context, _ *kgo.Client, parts map[string][]int32) { h.change(parts, true) }
	gone := func(_ context.Context, _ *kgo.Client, parts map[string][]int32) { h.change(parts, false) }
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(w.Bootstrap, ",")...), kgo.ClientID(w.Name), kgo.ConsumerGroup(w.Group), kgo.ConsumeTopics(w.Topic),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Balancers(assignors[w.Assignor]),
		kgo.SessionTimeout(time.Duration(w.SessionMs) * time.Millisecond), kgo.FetchMaxWait(200 * time.Millisecond),
		kgo.HeartbeatInterval(time.Duration(w.HeartbeatMs) * time.Millisecond), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.OnPartitionsAssigned(gained), kgo.OnPartitionsRevoked(gone), kgo.OnPartitionsLost(gone),
	}
	if w.Instance != nil {
		options = append(options, kgo.InstanceID(*w.Instance))
	}
	client, err := kgo.NewClient(options...)
	must(err)
	return client
}

func poll(client *kgo.Client) {
	for {
		fetches := client.PollFetches(context.Background())
		if fetches.IsClientClosed() {
			return
		}
		fetches.EachRecord(func(r *kgo.Record) {
			say("record", map[string]any{"partition": r.Partition, "offset": r.Offset, "value": string(r.Value)})
		})
	}
}

func main() {
	if _, wished := os.LookupEnv("MEMBER"); !wished {
		audited()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "secured" {
		secured()
		return
	}
	var w wish
	must(json.Unmarshal([]byte(os.Getenv("MEMBER")), &w))
	client := open(w)
	say("ready", map[string]any{"client": "franz-go " + version("github.com/twmb/franz-go")})
	go poll(client)
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		switch strings.TrimSpace(orders.Text()) {
		case "commit":
			must(client.CommitUncommittedOffsets(context.Background()))
			say("committed", nil)
		case "leave":
			client.Close()
			say("left", nil)
			return
		}
	}
}
