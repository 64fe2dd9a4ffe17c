package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class WorkerTest {
    private static final int LOCK_MS = 30_000; // of a record, as a broker has it

    @RegisterExtension
    static final Groupmock groupmock = new Groupmock(
            "--topic", "orders:1",
            "--set", "group.share.heartbeat.interval.ms=100", // the coordinator tells the members: they have their partitions soon
            "--set", "group.share.assignment.interval.ms=0");

    private final List<Worker> workers = new ArrayList<>();
    private final BlockingQueue<String> begun = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> cooked = new LinkedBlockingQueue<>();
    private final CountDownLatch end = new CountDownLatch(1);

    @BeforeEach
    void theGroupBeginsAtTheLogsStart() throws Exception {
        configure("share.auto.offset.reset", "earliest");
    }

    @AfterEach
    void everybodyLeaves() throws Exception {
        end.countDown();
        for (var worker : workers) {
            worker.close();
        }
    }

    @Test
    void anOrderOfAWorkerThatHangsIsCookedByAnother() throws Exception {
        start("anna", order -> { begun.add(order.value()); await(end); });
        order("coffee");
        assertEquals("coffee", begun.poll(10, TimeUnit.SECONDS));

        start("ben", order -> cooked.add(order.value() + ", delivery " + order.deliveryCount().orElseThrow()));
        groupmock.get("/v1/groups/kitchen/wait?state=Stable&members=2");
        step(LOCK_MS);
        assertEquals("coffee, delivery 2", cooked.poll(10, TimeUnit.SECONDS));
        groupmock.get("/v1/groups/kitchen/wait?acquired=0&lag=0");
    }

    @Test
    void anOrderThatAlwaysFailsIsArchivedAfterTheLastDelivery() throws Exception {
        configure("share.delivery.count.limit", "3");
        start("anna", order -> {
            begun.add(order.value());
            if (order.value().equals("poison")) {
                throw new IllegalStateException("nobody can cook that");
            }
        });
        order("poison", "coffee");
        groupmock.get("/v1/groups/kitchen/wait?acquired=0&lag=0");
        assertEquals(3, begun.stream().filter("poison"::equals).count());
        assertTrue(groupmock.get("/v1/groups/kitchen").get("story").toString().contains("record 0 of orders/0 is ARCHIVED"));
    }

    @Test
    void slowWorkThatRenewsItsLockIsDoneOnce() throws Exception {
        start("anna", 10, order -> { begun.add(order.value()); await(end); cooked.add(order.value()); });
        order("roast");
        assertEquals("roast", begun.poll(10, TimeUnit.SECONDS));
        start("ben", order -> cooked.add(order.value()));
        groupmock.get("/v1/groups/kitchen/wait?state=Stable&members=2");

        for (int halves = 0; halves < 3; halves++) {
            var stepped = step(LOCK_MS / 2);
            groupmock.get("/v1/journal/wait?kind=note&what=records_acknowledged&since=" + stepped.get("seq")); // the renewal after it
        }
        end.countDown();
        groupmock.get("/v1/groups/kitchen/wait?acquired=0&lag=0");
        assertEquals(List.of("roast"), List.copyOf(cooked));
    }

    @Test
    void aSecondWorkerHelpsOnTheSamePartition() throws Exception {
        start("anna", order -> { begun.add(order.value()); await(end); });
        order("roast");
        assertEquals("roast", begun.poll(10, TimeUnit.SECONDS));

        start("ben", order -> cooked.add(order.value()));
        groupmock.get("/v1/groups/kitchen/wait?members=2&assignment=orders");
        order("coffee", "tea");
        assertEquals("coffee", cooked.poll(10, TimeUnit.SECONDS));
        assertEquals("tea", cooked.poll(10, TimeUnit.SECONDS));
        groupmock.get("/v1/groups/kitchen/wait?acquired=1"); // anna still has the roast
        end.countDown();
        groupmock.get("/v1/groups/kitchen/wait?acquired=0&lag=0");
    }

    private void start(String name, Consumer<ConsumerRecord<String, String>> recipe) {
        start(name, LOCK_MS, recipe); // never renews
    }

    private void start(String name, long renewMs, Consumer<ConsumerRecord<String, String>> recipe) {
        workers.add(new Worker(name, renewMs, Map.of("bootstrap.servers", groupmock.bootstrap()), recipe));
    }

    private static void order(String... dishes) throws Exception {
        for (var dish : dishes) {
            groupmock.post("/v1/topics/orders/records", Map.of("value", dish));
        }
    }

    private static JsonNode step(int ms) throws Exception {
        return groupmock.post("/v1/clock/step", Map.of("ms", ms));
    }

    private static void configure(String key, String value) throws Exception {
        groupmock.post("/v1/groups/kitchen/configs", Map.of("set", Map.of(key, value)));
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }
}
