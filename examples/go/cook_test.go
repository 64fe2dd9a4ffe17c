package kitchen

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fields are a JSON object.
type fields map[string]any

// group has the fields of a group's view that the tests read.
type group struct {
	Members []struct {
		Assignment map[string][]int
	}
}

func TestASecondCookTakesHalfOfTheWork(t *testing.T) {
	fresh(t)
	cooked := make(chan string, 10)
	start(t, "anna", func(dish string) { cooked <- dish })
	get(t, "/v1/groups/kitchen/wait?state=Stable&members=1", nil)
	start(t, "ben", func(dish string) { cooked <- dish })
	var kitchen group
	get(t, "/v1/groups/kitchen/wait?state=Stable&members=2&assignment=orders", &kitchen)
	for _, member := range kitchen.Members {
		if len(member.Assignment["orders"]) != 2 {
			t.Errorf("not two partitions for each: %v", kitchen.Members)
		}
	}

	order(t, "coffee", "tea", "cake", "soup")
	get(t, "/v1/groups/kitchen/wait?lag=0", nil)
	if len(cooked) != 4 {
		t.Errorf("%d dishes were cooked, not 4", len(cooked))
	}
}

func TestAnOrderOfACookThatCrashedIsCookedAgain(t *testing.T) {
	fresh(t)
	begun, never, cooked := make(chan string, 10), make(chan bool), make(chan string, 10)
	start(t, "anna", func(dish string) { begun <- dish; <-never })
	t.Cleanup(func() { // the process is not really dead: it must go on to leave
		post(t, "/v1/groups/kitchen/thaw", fields{"member": "anna"})
		close(never)
	})
	order(t, "coffee")
	expect(t, begun, "coffee")

	// The process sends nothing any more, and its session of 45 s ends now instead of in 45 s.
	post(t, "/v1/groups/kitchen/freeze", fields{"member": "anna"})
	post(t, "/v1/groups/kitchen/expire", fields{"member": "anna"})
	start(t, "ben", func(dish string) { cooked <- dish })
	expect(t, cooked, "coffee")
	get(t, "/v1/groups/kitchen/wait?members=1&lag=0", nil)
}

func TestACookThatWasTooSlowDoesNotCommitOverTheOther(t *testing.T) {
	fresh(t)
	begun, slow, cooked := make(chan string, 10), make(chan bool), make(chan string, 10)
	start(t, "anna", func(dish string) { begun <- dish; <-slow })
	goOn := sync.OnceFunc(func() { close(slow) })
	t.Cleanup(goOn)
	order(t, "coffee")
	expect(t, begun, "coffee")

	post(t, "/v1/groups/kitchen/expire", fields{"member": "anna"})
	start(t, "ben", func(dish string) { cooked <- dish })
	expect(t, cooked, "coffee")
	goOn() // anna commits, is refused, and comes back for more
	get(t, "/v1/journal/wait?api=OffsetCommit&error=UNKNOWN_MEMBER_ID", nil)
	get(t, "/v1/groups/kitchen/wait?state=Stable&members=2&lag=0", nil)
}

func TestALostAnswerToSyncGroupCostsTimeAndNoOrder(t *testing.T) {
	fresh(t)
	post(t, "/v1/faults", fields{
		"name":  "lost-sync",
		"when":  fields{"api": "SyncGroup", "role": "follower"},
		"stage": "reply",                // the coordinator counts the member as served
		"do":    fields{"kind": "drop"}, // and the member never hears of it
		"times": 1,
	})
	cooked := make(chan string, 10)
	start(t, "anna", func(dish string) { cooked <- dish })
	start(t, "ben", func(dish string) { cooked <- dish })
	get(t, "/v1/faults/lost-sync/wait?hits=1", nil)
	order(t, "coffee", "tea", "cake", "soup")
	get(t, "/v1/groups/kitchen/wait?state=Stable&members=2&lag=0", nil)
	var dishes []string
	for len(cooked) > 0 {
		dishes = append(dishes, <-cooked)
	}
	slices.Sort(dishes) // some may be cooked twice
	if dishes = slices.Compact(dishes); !slices.Equal(dishes, []string{"cake", "coffee", "soup", "tea"}) {
		t.Errorf("cooked %v", dishes)
	}
}

// start starts a cook, which leaves when the test ends.
func start(t *testing.T, name string, recipe func(dish string)) {
	t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() {
		left <- Cook(ctx, recipe,
			kgo.SeedBrokers(groupmock.Bootstrap),
			kgo.ClientID(name),
			kgo.HeartbeatInterval(100*time.Millisecond), // hears of a rebalance soon
			kgo.RebalanceTimeout(time.Second),           // gives a lost answer up soon
			kgo.RequestTimeoutOverhead(time.Second),
		)
	}()
	t.Cleanup(func() {
		leave()
		if err := <-left; err != nil {
			t.Error(name, err)
		}
	})
}

// order produces one order to each partition in turn.
func order(t *testing.T, dishes ...string) {
	t.Helper()
	for number, dish := range dishes {
		post(t, "/v1/topics/orders/records", fields{"value": dish, "partition": number % 4})
	}
}

// expect waits until a dish is begun or cooked, and says which it must be.
func expect(t *testing.T, dishes <-chan string, want string) {
	t.Helper()
	select {
	case dish := <-dishes:
		if dish != want {
			t.Fatalf("%q, not %q", dish, want)
		}
	case <-time.After(5 * time.Second):
		t.Fatalf("nobody cooks %q", want)
	}
}
