// Works in a share group with franz-go, and prints what was delivered and answered, as share_worker.py does: BOOTSTRAP GROUP TOPIC HOW COUNT.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var answers = map[int64]kgo.AckStatus{3: kgo.AckRelease, 4: kgo.AckReject, 9: kgo.AckRelease}

// A worker fetches only while it is polled (ShareMaxRecordsStrict), as the other clients do.
type worker struct {
	*kgo.Client
	answered []any
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func tell(what ...any) {
	line, err := json.Marshal(what)
	must(err)
	fmt.Println(string(line))
}

func newWorker(name string) *worker {
	w := &worker{}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(os.Args[1]), kgo.ClientID(name), kgo.ShareGroup(os.Args[2]), kgo.ConsumeTopics(os.Args[3]),
		kgo.ShareMaxRecordsStrict(), kgo.ShareAckCallback(func(_ *kgo.Client, results kgo.ShareAckResults) {
			for _, each := range results {
				var named *kerr.Error
				switch {
				case each.Err == nil:
					w.answered = append(w.answered, nil)
				case errors.As(each.Err, &named):
					w.answered = append(w.answered, named.Message)
				default:
					w.answered = append(w.answered, each.Err.Error())
				}
			}
		}),
	)
	must(err)
	w.Client = client
	return w
}

func (w *worker) take(count int) []*kgo.Record {
	var records []*kgo.Record
	for len(records) < count {
		fetches := w.PollFetches(context.Background())
		must(fetches.Err())
		records = append(records, fetches.Records()...)
	}
	slices.SortFunc(records, func(one, other *kgo.Record) int { return int(one.Offset - other.Offset) })
	got := [][]int64{}
	for _, each := range records {
		got = append(got, []int64{each.Offset, int64(each.DeliveryCount())})
	}
	tell("got", got)
	return records
}

// Sends the acknowledgements, and prints their results.
func (w *worker) commit() {
	w.answered = nil
	must(w.FlushAcks(context.Background()))
	tell("committed", w.answered)
}

func (w *worker) explicit(count int) {
	for _, each := range w.take(count) {
		status, named := answers[each.Offset]
		if !named {
			status = kgo.AckAccept
		}
		each.Ack(status)
	}
	w.commit()
	two := w.take(2)
	two[0].Ack(kgo.AckAccept)
	w.commit()
	tell("holding")
	other := newWorker("two")
	defer other.Close()
	again := other.take(1)[0]
	two[1].Ack(kgo.AckAccept)
	w.commit()
	again.Ack(kgo.AckAccept)
	other.commit()
}

func (w *worker) implicit(count int) {
	w.take(count)
	within, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	second := []int64{}
	w.PollFetches(within).EachRecord(func(each *kgo.Record) { second = append(second, each.Offset) })
	tell("second", second)
}

func main() {
	count, err := strconv.Atoi(os.Args[5])
	must(err)
	w := newWorker("one")
	defer w.Close()
	switch os.Args[4] {
	case "explicit":
		w.explicit(count)
	case "implicit":
		w.implicit(count)
	default:
		records := w.take(count)
		if os.Args[4] == "crash" {
			_, _ = os.Stdin.Read(make([]byte, 1))
		}
		for _, each := range records {
			each.Ack(kgo.AckAccept)
		}
		w.commit()
	}
}
