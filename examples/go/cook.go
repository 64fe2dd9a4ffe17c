// Package kitchen is a service that cooks orders.
package kitchen

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Cook cooks orders until ctx ends and then leaves the group. Each order is committed when it is cooked, so that none is lost; some are
// cooked twice. Options are franz-go's, on top of those of the service.
func Cook(ctx context.Context, recipe func(dish string), options ...kgo.Opt) error {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.ConsumerGroup("kitchen"),
		kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	}, options...)...)
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		fetches := client.PollRecords(ctx, 1)
		if ctx.Err() != nil {
			return nil
		}
		for _, order := range fetches.Records() {
			recipe(string(order.Value))
			if err := client.CommitRecords(ctx, order); err != nil && !late(err) {
				return err
			}
		}
	}
}

// late says whether the group went on without us: the partition's new owner cooks the order again, and franz-go joins again.
func late(err error) bool {
	return errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.IllegalGeneration) || errors.Is(err, kerr.RebalanceInProgress) ||
		errors.Is(err, context.Canceled)
}
