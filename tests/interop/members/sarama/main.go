// A member that is a sarama consumer group; the protocol is told in ../../README.md.
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

	"github.com/IBM/sarama"
)

var assignors = map[string]func() sarama.BalanceStrategy{
	"range": sarama.NewBalanceStrategyRange, "roundrobin": sarama.NewBalanceStrategyRoundRobin,
	"sticky": sarama.NewBalanceStrategySticky,
}

// member is the handler of the group's sessions; the current session takes the commits.
type member struct {
	topic string
	sync.Mutex
	session sarama.ConsumerGroupSession
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.Lock()
	defer m.Unlock()
	m.session = session
	held := []int{}
	for _, partition := range session.Claims()[m.topic] {
		held = append(held, int(partition))
	}
	sort.Ints(held)
	say("holds", map[string]any{"partitions": held})
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.Lock()
	defer m.Unlock()
	m.session = nil
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		session.MarkMessage(message, "")
		say("record", map[string]any{"partition": message.Partition, "offset": message.Offset, "value": string(message.Value)})
	}
	return nil
}

func (m *member) commit() {
	m.Lock()
	defer m.Unlock()
	if m.session == nil {
		must(errors.New("asked to commit between two sessions"))
	}
	m.session.Commit()
	say("committed", nil)
}

func open(w wish) sarama.ConsumerGroup {
	config := sarama.NewConfig() // sarama's own default of config.Version: what a stock user sends
	config.ClientID = w.Name
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = time.Duration(w.SessionMs) * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = time.Duration(w.HeartbeatMs) * time.Millisecond
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{assignors[w.Assignor]()}
	config.Consumer.MaxWaitTime = 200 * time.Millisecond
	if w.Instance != nil {
		config.Consumer.Group.InstanceId = *w.Instance
	}
	group, err := sarama.NewConsumerGroup(strings.Split(w.Bootstrap, ","), w.Group, config)
	must(err)
	return group
}

func main() {
	if _, wished := os.LookupEnv("MEMBER"); !wished {
		audited()
		return
	}
	var w wish
	must(json.Unmarshal([]byte(os.Getenv("MEMBER")), &w))
	group, m := open(w), &member{topic: w.Topic}
	say("ready", map[string]any{"client": "sarama " + version("github.com/IBM/sarama")})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := group.Consume(ctx, []string{w.Topic}, m); err != nil && !errors.Is(err, sarama.ErrClosedConsumerGroup) {
				say("trouble", map[string]any{"why": err.Error()})
			}
		}
	}()
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		switch strings.TrimSpace(orders.Text()) {
		case "commit":
			m.commit()
		case "leave":
			stop()
			<-done
			must(group.Close())
			say("left", nil)
			return
		}
	}
}
