package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class CookTest {
    @RegisterExtension
    static final Groupmock groupmock = new Groupmock("--topic", "orders:4");

    private final List<Cook> cooks = new ArrayList<>();
    private final BlockingQueue<String> cooked = new LinkedBlockingQueue<>();

    private final CountDownLatch end = new CountDownLatch(1);

    @AfterEach
    void everybodyLeaves() throws Exception {
        end.countDown();
        groupmock.post("/v1/reset"); // whoever is frozen goes on, too
        for (var cook : cooks) {
            cook.close();
        }
    }

    @Test
    void aSecondCookTakesHalfOfTheWork() throws Exception {
        start("anna", cooked::add);
        groupmock.get("/v1/groups/kitchen/wait?state=Stable&members=1");
        start("ben", cooked::add);
        var group = groupmock.get("/v1/groups/kitchen/wait?state=Stable&members=2&assignment=orders");
        group.get("members").forEach(member -> assertEquals(2, member.get("assignment").get("orders").size()));

        order("coffee", "tea", "cake", "soup");
        groupmock.get("/v1/groups/kitchen/wait?lag=0");
        assertEquals(4, cooked.size());
    }

    @Test
    void anOrderOfACookThatCrashedIsCookedAgain() throws Exception {
        var begun = new LinkedBlockingQueue<String>();
        start("anna", order -> { begun.add(order); await(end); });
        order("coffee");
        assertEquals("coffee", begun.poll(5, TimeUnit.SECONDS));

        // The process sends nothing any more, and its session of 45 s ends now instead of in 45 s.
        groupmock.post("/v1/groups/kitchen/freeze", Map.of("member", "anna"));
        groupmock.post("/v1/groups/kitchen/expire", Map.of("member", "anna"));
        start("ben", cooked::add);
        assertEquals("coffee", cooked.poll(5, TimeUnit.SECONDS));
        groupmock.get("/v1/groups/kitchen/wait?members=1&lag=0");
    }

    @Test
    void aCookThatWasTooSlowDoesNotCommitOverTheOther() throws Exception {
        var begun = new LinkedBlockingQueue<String>();
        start("anna", order -> { begun.add(order); await(end); });
        order("coffee");
        assertEquals("coffee", begun.poll(5, TimeUnit.SECONDS));

        groupmock.post("/v1/groups/kitchen/expire", Map.of("member", "anna"));
        start("ben", cooked::add);
        assertEquals("coffee", cooked.poll(5, TimeUnit.SECONDS));
        groupmock.get("/v1/journal/wait?api=Heartbeat&error=UNKNOWN_MEMBER_ID"); // anna's client heard of it
        end.countDown(); // it refuses her commit, and she comes back for more
        groupmock.get("/v1/groups/kitchen/wait?state=Stable&members=2&lag=0");
    }

    @Test
    void aLostAnswerToSyncGroupCostsTimeAndNoOrder() throws Exception {
        groupmock.post("/v1/faults", Map.of(
                "name", "lost-sync",
                "when", Map.of("api", "SyncGroup", "role", "follower"),
                "stage", "reply", // the coordinator counts the member as served
                "do", Map.of("kind", "drop"), // and the member never hears of it
                "times", 1));
        start("anna", cooked::add);
        start("ben", cooked::add);
        groupmock.get("/v1/faults/lost-sync/wait?hits=1");
        order("coffee", "tea", "cake", "soup");
        groupmock.get("/v1/groups/kitchen/wait?state=Stable&members=2&lag=0");
        assertTrue(cooked.containsAll(List.of("coffee", "tea", "cake", "soup")));
    }

    private void start(String name, Consumer<String> recipe) {
        cooks.add(new Cook(name, Map.of(
                "bootstrap.servers", groupmock.bootstrap(),
                "heartbeat.interval.ms", 100, // hears of a rebalance soon
                "request.timeout.ms", 1000, // gives a lost answer up soon
                "default.api.timeout.ms", 5000), recipe));
    }

    /** Produces one order to each partition in turn. */
    private static void order(String... dishes) throws Exception {
        for (int number = 0; number < dishes.length; number++) {
            groupmock.post("/v1/topics/orders/records", Map.of("value", dishes[number], "partition", number % 4));
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }
}
