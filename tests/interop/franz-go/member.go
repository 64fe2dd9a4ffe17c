package main

import (
	"context"
	"sort"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// member is one consumer with its poll loop; what it holds is told by the client's own callbacks.
type member struct {
	client *kgo.Client
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	owned  map[int32]bool
	rounds int
	values []string
}

func newMember(f *facts, options ...kgo.Opt) *member {
	m := &member{owned: map[int32]bool{}, done: make(chan struct{})}
	options = append(options, kgo.OnPartitionsAssigned(m.assigned), kgo.OnPartitionsRevoked(m.dropped), kgo.OnPartitionsLost(m.dropped))
	client, err := kgo.NewClient(options...)
	f.must(err)
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(context.Background())
	m.client = client
	go m.poll(ctx, f)
	return m
}

func (m *member) assigned(_ context.Context, _ *kgo.Client, added map[string][]int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rounds++
	for _, partitions := range added {
		for _, partition := range partitions {
			m.owned[partition] = true
		}
	}
}

func (m *member) dropped(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, partitions := range gone {
		for _, partition := range partitions {
			delete(m.owned, partition)
		}
	}
}

func (m *member) poll(ctx context.Context, f *facts) {
	defer close(m.done)
	for ctx.Err() == nil {
		fetches := m.client.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		fetches.EachError(func(topic string, partition int32, err error) {
			f.put("poll_error", err.Error())
		})
		m.mu.Lock()
		fetches.EachRecord(func(record *kgo.Record) { m.values = append(m.values, string(record.Value)) })
		m.mu.Unlock()
	}
}

func (m *member) held() []int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := make([]int32, 0, len(m.owned))
	for partition := range m.owned {
		held = append(held, partition)
	}
	sort.Slice(held, func(i, j int) bool { return held[i] < held[j] })
	return held
}

func (m *member) got() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.values...)
}

func (m *member) assignments() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rounds
}

func (m *member) generation() int32 {
	_, generation := m.client.GroupMetadata()
	return generation
}

func (m *member) commit(f *facts) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	f.must(m.client.CommitUncommittedOffsets(ctx))
}

// close leaves the group if the member is dynamic; a static one just goes away.
func (m *member) close() {
	m.cancel()
	<-m.done
	m.client.Close()
}
