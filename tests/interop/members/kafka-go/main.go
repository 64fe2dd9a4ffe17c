// A member that is a kafka-go consumer group with a reader per partition; the protocol is told in ../../README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

var assignors = map[string]kafka.GroupBalancer{"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{}}

// member reads what the current generation assigned, and has the positions of its readers.
type member struct {
	wish
	sync.Mutex
	generation *kafka.Generation
	positions  map[int]int64
}

func (m *member) begin(generation *kafka.Generation) {
	m.Lock()
	defer m.Unlock()
	m.generation, m.positions = generation, map[int]int64{}
	held := []int{}
	for _, each := range generation.Assignments[m.Topic] {
		held = append(held, each.ID)
		partition, offset := each.ID, each.Offset
		generation.Start(func(ctx context.Context) { m.read(ctx, generation, partition, offset) })
	}
	sort.Ints(held)
	say("holds", map[string]any{"partitions": held})
}

// read hands on the records of a partition until the generation ends.
func (m *member) read(ctx context.Context, generation *kafka.Generation, partition int, offset int64) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: strings.Split(m.Bootstrap, ","), Topic: m.Topic, Partition: partition, MaxWait: 200 * time.Millisecond, MaxBytes: 1 << 20,
		Dialer: &kafka.Dialer{ClientID: m.Name, Timeout: 10 * time.Second},
	})
	defer reader.Close()
	must(reader.SetOffset(offset))
	for {
		message, err := reader.ReadMessage(ctx)
		if errors.Is(err, context.Canceled) || errors.Is(err, kafka.ErrGenerationEnded) {
			return
		}
		must(err)
		m.Lock()
		if m.generation == generation {
			m.positions[partition] = message.Offset + 1
		}
		m.Unlock()
		say("record", map[string]any{"partition": partition, "offset": message.Offset, "value": string(message.Value)})
	}
}

func (m *member) commit() {
	m.Lock()
	defer m.Unlock()
	if m.generation != nil && len(m.positions) > 0 {
		must(m.generation.CommitOffsets(map[string]map[int]int64{m.Topic: m.positions}))
	}
	say("committed", nil)
}

func open(w wish) *kafka.ConsumerGroup {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: w.Group, Brokers: strings.Split(w.Bootstrap, ","), Topics: []string{w.Topic}, StartOffset: kafka.FirstOffset,
		Dialer:         &kafka.Dialer{ClientID: w.Name, Timeout: 10 * time.Second},
		GroupBalancers: []kafka.GroupBalancer{assignors[w.Assignor]}, RebalanceTimeout: 15 * time.Second, JoinGroupBackoff: 100 * time.Millisecond,
		SessionTimeout:    time.Duration(w.SessionMs) * time.Millisecond,
		HeartbeatInterval: time.Duration(w.HeartbeatMs) * time.Millisecond,
	})
	must(err)
	return group
}

func main() {
	var w wish
	must(json.Unmarshal([]byte(os.Getenv("MEMBER")), &w))
	m, group := &member{wish: w}, open(w)
	say("ready", map[string]any{"client": "kafka-go " + version("github.com/segmentio/kafka-go")})
	go func() {
		for {
			generation, err := group.Next(context.Background())
			if errors.Is(err, kafka.ErrGroupClosed) {
				return
			}
			if err != nil {
				say("trouble", map[string]any{"why": err.Error()})
				continue
			}
			m.begin(generation)
		}
	}()
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		switch strings.TrimSpace(orders.Text()) {
		case "commit":
			m.commit()
		case "leave":
			must(group.Close())
			say("left", nil)
			return
		}
	}
}
