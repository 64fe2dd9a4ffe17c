package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// audited is a franz-go consumer as users write it, for `groupmock audit --drive`: all from the environment, automatic commits, closed on
// SIGTERM.
func audited() {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(os.Getenv("GROUPMOCK_BOOTSTRAP"), ",")...), kgo.ClientID(os.Getenv("GROUPMOCK_CLIENT_ID")),
		kgo.ConsumerGroup(os.Getenv("GROUPMOCK_GROUP")), kgo.ConsumeTopics(os.Getenv("GROUPMOCK_TOPIC")),
		kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond), kgo.RebalanceTimeout(20 * time.Second),
		kgo.AutoCommitInterval(500 * time.Millisecond), kgo.MetadataMaxAge(2 * time.Second), kgo.MetadataMinAge(500 * time.Millisecond),
		kgo.RequestTimeoutOverhead(4 * time.Second), kgo.FetchMaxWait(500 * time.Millisecond),
	}
	if balancer, named := assignors[os.Getenv("AUDITED_ASSIGNOR")]; named {
		options = append(options, kgo.Balancers(balancer))
	}
	if instance := os.Getenv("GROUPMOCK_INSTANCE_ID"); instance != "" {
		options = append(options, kgo.InstanceID(instance))
	}
	client, err := kgo.NewClient(options...)
	must(err)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for ctx.Err() == nil {
		client.PollFetches(ctx).EachError(func(topic string, partition int32, err error) { fmt.Println(topic, partition, err) })
	}
	client.Close()
}
