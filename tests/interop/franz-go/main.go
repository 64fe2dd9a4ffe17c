// A franz-go group against any broker: joins, consumes, commits, leaves.
//
// Usage: KAFKA_BOOTSTRAP=host:port franz-go ASSIGNOR. Exit status 0 only if every fact is as Kafka's own.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions = 6
	batch      = 60
)

var assignors = map[string]kgo.GroupBalancer{
	"range":              kgo.RangeBalancer(),
	"roundrobin":         kgo.RoundRobinBalancer(),
	"sticky":             kgo.StickyBalancer(),
	"cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

type run struct {
	*facts
	desk                              *desk
	bootstrap, assignor, topic, group string
	producer                          *kgo.Client
}

func main() {
	bootstrap := os.Getenv("KAFKA_BOOTSTRAP")
	if len(os.Args) != 2 || assignors[os.Args[1]] == nil || bootstrap == "" {
		fmt.Fprintln(os.Stderr, "usage: KAFKA_BOOTSTRAP=host:port franz-go range|roundrobin|sticky|cooperative-sticky")
		os.Exit(2)
	}
	f := newFacts("franz-go "+version(), os.Args[1])
	suffix := fmt.Sprintf("%s-%x", os.Args[1], time.Now().UnixNano())
	producer, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.RecordDeliveryTimeout(patience))
	f.must(err)
	r := &run{
		facts: f, desk: newDesk(f, bootstrap), bootstrap: bootstrap, assignor: os.Args[1],
		topic: "interop-franz-" + suffix, group: "interop-franz-group-" + suffix, producer: producer,
	}
	r.scenario()
	f.end("")
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, each := range info.Deps {
			if each.Path == "github.com/twmb/franz-go" {
				return each.Version
			}
		}
	}
	return "unknown"
}

func (r *run) scenario() {
	r.createTopic()
	first := r.alone()
	second := r.joined(first)
	r.deliveredOnce(first, second)
	r.described()
	r.takeover(first, second)
	r.resumed()
	r.at("an offset deleted by the admin")
	r.desk.forgetOffset(r.group, r.topic, 0)
	_, still := r.desk.committed(r.group)[0]
	r.same("forgotten_offset", false, still)
	r.staticRestarts()
	r.deleted()
}

func (r *run) createTopic() {
	r.at("create topic")
	r.desk.createTopic(r.topic, partitions)
	r.await("the topic's metadata", func() bool { return r.desk.partitions(r.topic) == partitions },
		func() any { return r.desk.partitions(r.topic) })
}

func (r *run) member(group, instance string) *member {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(r.bootstrap, ",")...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(r.topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Balancers(assignors[r.assignor]),
		kgo.HeartbeatInterval(200 * time.Millisecond), kgo.SessionTimeout(10 * time.Second), kgo.FetchMaxWait(200 * time.Millisecond),
		kgo.MetadataMinAge(50 * time.Millisecond),
	}
	if instance != "" {
		options = append(options, kgo.InstanceID(instance))
	}
	return newMember(r.facts, options...)
}

// alone: the first member holds everything before the second comes, so that the second round really moves partitions.
func (r *run) alone() *member {
	r.at("one member joins")
	first := r.member(r.group, "")
	r.await("all partitions", func() bool { return len(first.held()) == partitions }, func() any { return first.held() })
	r.put("generation_alone", first.generation())
	return first
}

func (r *run) joined(first *member) *member {
	r.at("a second member joins")
	before := first.generation()
	second := r.member(r.group, "")
	r.awaitShared(first, second)
	r.put("generation_joined", first.generation())
	r.same("generation_moved", true, first.generation() > before)
	return second
}

func (r *run) awaitShared(one, two *member) {
	shared := func() bool {
		all := append(one.held(), two.held()...)
		sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
		return reflect.DeepEqual(all, []int32{0, 1, 2, 3, 4, 5}) && len(one.held()) == partitions/2 && one.generation() == two.generation()
	}
	r.await("three partitions each", shared, func() any {
		return fmt.Sprint(one.held(), two.held(), " generations ", one.generation(), two.generation())
	})
}

func (r *run) produce(prefix string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var records []*kgo.Record
	var values []string
	for index := 0; index < batch; index++ {
		value := fmt.Sprintf("%s-%d", prefix, index)
		values = append(values, value)
		records = append(records, &kgo.Record{Topic: r.topic, Key: []byte(fmt.Sprintf("key-%d", index)), Value: []byte(value)})
	}
	results := r.producer.ProduceSync(ctx, records...)
	r.must(results.FirstErr())
	touched := map[int32]bool{}
	for _, each := range results {
		touched[each.Record.Partition] = true
	}
	r.same("produced_to_"+prefix, partitions, len(touched))
	sort.Strings(values)
	return values
}

func got(prefix string, members ...*member) []string {
	var all []string
	for _, each := range members {
		for _, value := range each.got() {
			if strings.HasPrefix(value, prefix) {
				all = append(all, value)
			}
		}
	}
	sort.Strings(all)
	return all
}

func (r *run) awaitRecords(what string, count int, members ...*member) {
	r.await(what, func() bool { return len(got("", members...)) >= count }, func() any {
		return fmt.Sprint(len(got("", members...)), " records")
	})
}

func (r *run) deliveredOnce(first, second *member) {
	r.at("delivered once")
	wanted := r.produce("a")
	r.awaitRecords("all records", batch, first, second)
	r.same("delivered_once", true, reflect.DeepEqual(wanted, got("", first, second)))
	r.same("both_got_some", true, len(first.got()) > 0 && len(second.got()) > 0)
	first.commit(r.facts)
	second.commit(r.facts)
	r.same("committed", r.desk.ends(r.topic), r.desk.committed(r.group))
}

func (r *run) described() {
	r.at("describe and list groups")
	described := r.desk.describe(r.group)
	r.same("state", "Stable", described.State)
	r.same("members", 2, len(described.Members))
	r.same("protocol", r.assignor, described.Protocol)
	r.same("described_partitions", partitions, len(described.AssignedPartitions()[r.topic]))
	r.same("listed", true, r.desk.listed(r.group))
}

func (r *run) takeover(first, second *member) {
	r.at("one member leaves")
	left := time.Now()
	second.close()
	r.await("all partitions with the first", func() bool { return len(first.held()) == partitions }, func() any { return first.held() })
	r.put("takeover_ms", time.Since(left).Milliseconds())
	wanted := r.produce("b")
	r.awaitRecords("the second batch", 2*batch, first, second)
	r.same("takeover_delivered_once", true, reflect.DeepEqual(wanted, got("b", first, second)))
	r.same("takeover_redelivered", 0, len(got("", first, second))-2*batch)
	first.commit(r.facts)
	first.close()
	r.same("state_after_leave", "Empty", r.desk.describe(r.group).State)
}

func (r *run) resumed() {
	r.at("restart resumes from the commit")
	wanted := r.produce("c")
	again := r.member(r.group, "")
	r.await("the third batch", func() bool { return len(got("c", again)) >= batch }, func() any { return len(again.got()) })
	r.same("resumed", true, reflect.DeepEqual(wanted, got("c", again)))
	r.same("resumed_redelivered", 0, len(again.got())-batch)
	again.commit(r.facts)
	again.close()
	r.same("committed_at_end", r.desk.ends(r.topic), r.desk.committed(r.group))
}

func (r *run) staticRestarts() {
	r.at("static members restart")
	group := r.group + "-static"
	one, two := r.member(group, "instance-1"), r.member(group, "instance-2")
	r.awaitShared(one, two)
	generation := one.generation()
	one = r.restarted(one, group, "instance-1", two)
	two = r.restarted(two, group, "instance-2", one)
	r.same("static_generation_one", generation, one.generation())
	r.same("static_generation_two", generation, two.generation())
	one.close()
	two.close()
	r.same("static_members_stay", 2, len(r.desk.describe(group).Members))
	r.desk.remove(group, "instance-1", "instance-2")
	r.same("static_state_after_removal", "Empty", r.desk.describe(group).State)
	r.desk.deleteGroup(group)
}

// restarted stops one static member and starts it anew: it must get its old partitions, and the other must notice nothing.
func (r *run) restarted(old *member, group, instance string, other *member) *member {
	had, rounds := old.held(), other.assignments()
	old.close()
	fresh := r.member(group, instance)
	r.await(instance+" to get its partitions again", func() bool { return reflect.DeepEqual(had, fresh.held()) },
		func() any { return fresh.held() })
	r.same("static_"+instance+"_disturbed_others", 0, other.assignments()-rounds)
	return fresh
}

func (r *run) deleted() {
	r.at("delete group and topic")
	r.desk.deleteGroup(r.group)
	r.same("listed_after_delete", false, r.desk.listed(r.group))
	r.same("missing_after_delete", true, r.desk.missing(r.group))
	r.desk.deleteTopic(r.topic)
	r.await("the topic to go", func() bool { return r.desk.partitions(r.topic) == 0 }, func() any { return r.desk.partitions(r.topic) })
}
