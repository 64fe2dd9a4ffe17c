package example;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.KafkaStreams;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

class TallyTest {
    private static final String GROUP = "/v1/groups/tally";

    @RegisterExtension
    static final Groupmock groupmock = new Groupmock(
            "--topic", "tallies:1",
            "--set", "group.streams.heartbeat.interval.ms=100", // the coordinator tells the members: they have their tasks soon
            "--set", "group.streams.initial.rebalance.delay.ms=0",
            "--set", "group.streams.assignment.interval.ms=0");

    @TempDir
    Path states;

    private final List<KafkaStreams> instances = new ArrayList<>();

    @BeforeEach
    void tasksHaveStandbys() throws Exception {
        groupmock.post(GROUP + "/configs", Map.of("set", Map.of("streams.num.standby.replicas", "1")));
    }

    @AfterEach
    void everybodyStops() {
        instances.forEach(KafkaStreams::close);
    }

    @Test
    void aSecondInstanceTakesTasksAndGoesOnCounting() throws Exception {
        createTopic("orders", 2);
        start("anna");
        groupmock.get(GROUP + "/wait?state=Stable&members=1");
        order("coffee");
        awaitTally("coffee", 1);

        start("ben");
        groupmock.get(GROUP + "/wait?state=Stable&members=2");
        order("coffee");
        awaitTally("coffee", 2);
    }

    @Test
    void anInstanceThatIsGoneIsReplacedByTheOneThatStandsBy() throws Exception {
        createTopic("orders", 2);
        start("anna");
        groupmock.get(GROUP + "/wait?state=Stable&members=1");
        start("ben");
        groupmock.get(GROUP + "/wait?state=Stable&members=2");
        order("coffee", "coffee");
        awaitTally("coffee", 2);

        instances.remove(1).close();
        groupmock.get(GROUP + "/wait?state=Stable&members=1");
        order("coffee");
        awaitTally("coffee", 3);
        assertTrue(story().contains("had it as standby"), story());
    }

    @Test
    void tasksWaitForTheSourceTopic() throws Exception {
        start("anna");
        groupmock.get(GROUP + "/wait?state=NotReady");
        assertTrue(story().contains("Source topics orders are missing"), story());
        createTopic("orders", 1);
        groupmock.get(GROUP + "/wait?state=Stable&members=1");
        order("coffee");
        awaitTally("coffee", 1);
    }

    private void start(String name) {
        var instance = Tally.instance(name, Map.of(
                "bootstrap.servers", groupmock.bootstrap(),
                "state.dir", states.resolve(name).toString()));
        instances.add(instance);
        instance.start();
    }

    private static String story() throws Exception {
        return groupmock.get(GROUP).get("story").toString();
    }

    private static void createTopic(String name, int partitions) throws Exception {
        groupmock.post("/v1/topics", Map.of("name", name, "partitions", partitions));
    }

    private static void order(String... dishes) throws Exception {
        for (var dish : dishes) {
            groupmock.post("/v1/topics/orders/records", Map.of("value", dish));
        }
    }

    /** Reads the topic of tallies until there is this one. */
    private static void awaitTally(String dish, int count) {
        var settings = Map.<String, Object>of("bootstrap.servers", groupmock.bootstrap(), "auto.offset.reset", "earliest");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(new TopicPartition("tallies", 0)));
            for (int seconds = 0; seconds < 30; seconds++) {
                for (var tally : consumer.poll(Duration.ofSeconds(1))) {
                    if (tally.key().equals(dish) && tally.value().equals(String.valueOf(count))) {
                        return;
                    }
                }
            }
        }
        throw new AssertionError("there is no tally " + count + " of " + dish);
    }
}
