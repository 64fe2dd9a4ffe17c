package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// desk is kadm with the run's way of failing.
type desk struct {
	facts *facts
	admin *kadm.Client
}

func newDesk(f *facts, bootstrap string) *desk {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.MetadataMinAge(50*time.Millisecond))
	f.must(err)
	return &desk{facts: f, admin: kadm.NewClient(client)}
}

func (d *desk) ctx() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 15*time.Second)
}

func (d *desk) createTopic(topic string, partitions int32) {
	ctx, cancel := d.ctx()
	defer cancel()
	_, err := d.admin.CreateTopic(ctx, partitions, 1, nil, topic)
	d.facts.must(err)
}

func (d *desk) deleteTopic(topic string) {
	ctx, cancel := d.ctx()
	defer cancel()
	_, err := d.admin.DeleteTopic(ctx, topic)
	d.facts.must(err)
}

// partitions of the topic; 0 while it is not there.
func (d *desk) partitions(topic string) int {
	ctx, cancel := d.ctx()
	defer cancel()
	details, err := d.admin.ListTopics(ctx, topic)
	d.facts.must(err)
	if details[topic].Err != nil {
		return 0
	}
	return len(details[topic].Partitions)
}

func (d *desk) describe(group string) kadm.DescribedGroup {
	ctx, cancel := d.ctx()
	defer cancel()
	described, err := d.admin.DescribeGroups(ctx, group)
	d.facts.must(err)
	d.facts.must(described[group].Err)
	return described[group]
}

// missing tells whether the broker knows the group no more: GROUP_ID_NOT_FOUND from DescribeGroups v6, state Dead before.
func (d *desk) missing(group string) bool {
	ctx, cancel := d.ctx()
	defer cancel()
	described, err := d.admin.DescribeGroups(ctx, group)
	d.facts.must(err)
	return described[group].State == "Dead" || errors.Is(described[group].Err, kerr.GroupIDNotFound)
}

func (d *desk) listed(group string) bool {
	ctx, cancel := d.ctx()
	defer cancel()
	groups, err := d.admin.ListGroups(ctx)
	d.facts.must(err)
	_, found := groups[group]
	return found
}

func (d *desk) ends(topic string) map[int32]int64 {
	ctx, cancel := d.ctx()
	defer cancel()
	listed, err := d.admin.ListEndOffsets(ctx, topic)
	d.facts.must(err)
	d.facts.must(listed.Error())
	found := map[int32]int64{}
	listed.Each(func(each kadm.ListedOffset) { found[each.Partition] = each.Offset })
	return found
}

func (d *desk) committed(group string) map[int32]int64 {
	ctx, cancel := d.ctx()
	defer cancel()
	fetched, err := d.admin.FetchOffsets(ctx, group)
	d.facts.must(err)
	d.facts.must(fetched.Error())
	found := map[int32]int64{}
	fetched.Each(func(each kadm.OffsetResponse) { found[each.Partition] = each.At })
	return found
}

func (d *desk) forgetOffset(group, topic string, partition int32) {
	ctx, cancel := d.ctx()
	defer cancel()
	set := kadm.TopicsSet{}
	set.Add(topic, partition)
	answers, err := d.admin.DeleteOffsets(ctx, group, set)
	d.facts.must(err)
	d.facts.must(answers.Error())
}

func (d *desk) remove(group string, instances ...string) {
	ctx, cancel := d.ctx()
	defer cancel()
	answers, err := d.admin.LeaveGroup(ctx, kadm.LeaveGroup(group).InstanceIDs(instances...).Reason("interop: done"))
	d.facts.must(err)
	d.facts.must(answers.Error())
}

func (d *desk) deleteGroup(group string) {
	ctx, cancel := d.ctx()
	defer cancel()
	answer, err := d.admin.DeleteGroup(ctx, group)
	d.facts.must(err)
	d.facts.must(answer.Err)
}
