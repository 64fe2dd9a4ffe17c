package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/IBM/sarama"
)

type reader struct{}

func (reader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		session.MarkMessage(message, "")
	}
	return nil
}

// audited is a sarama consumer group as users write it, for `groupmock audit --drive`: all from the environment, automatic commits, closed on
// SIGTERM.
func audited() {
	config := sarama.NewConfig()
	config.ClientID = os.Getenv("GROUPMOCK_CLIENT_ID")
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = 500 * time.Millisecond
	config.Consumer.Group.Session.Timeout = 6 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	config.Consumer.Group.Rebalance.Timeout = 20 * time.Second
	config.Metadata.RefreshFrequency = 2 * time.Second
	config.Net.ReadTimeout = 25 * time.Second // above the rebalance timeout: sarama has no other for JoinGroup
	if instance := os.Getenv("GROUPMOCK_INSTANCE_ID"); instance != "" {
		config.Version = sarama.V2_4_0_0 // the first with group.instance.id
		config.Consumer.Group.InstanceId = instance
	}
	group, err := sarama.NewConsumerGroup(strings.Split(os.Getenv("GROUPMOCK_BOOTSTRAP"), ","), os.Getenv("GROUPMOCK_GROUP"), config)
	must(err)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{os.Getenv("GROUPMOCK_TOPIC")}, reader{}); err != nil {
			fmt.Println(err)
			select { // as the examples of sarama do not: without a pause an error would be asked for again at once
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	}
	must(group.Close())
}
