package groupmock.interop;

import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * One instance of an application that counts: `topic` -> by another key (a repartition topic) -> counts in a store (a compacted changelog
 * topic) -> `topic`-counts, at least or exactly once, each record in no less than `slow_ms`. The tasks held are told as "0_3" for partition 3
 * of subtopology 0, and so are standby tasks. With the `protocol` streams (KIP-1071) the store is on disk, so that a restarted instance has state.
 */
public final class Member {
    private final Wish wish;
    private final Orders orders = new Orders();
    private final KafkaStreams streams;
    private String told;

    private Member(Wish wish) {
        this.wish = wish;
        streams = new KafkaStreams(topology(wish).build(), config(wish));
        streams.setStateListener((now, before) -> Say.line("state", "\"state\": " + Say.quoted(now.toString())));
    }

    private static StreamsBuilder topology(Wish wish) {
        String topic = wish.text("topic");
        int slow = wish.number("slow_ms");
        boolean kept = "streams".equals(wish.text("protocol"));
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> source = builder.stream(topic);
        source.peek((key, value) -> work(slow)).groupBy((key, value) -> value.substring(0, value.indexOf(' ')), Grouped.as("by-word"))
                .count(Materialized.<String, Long>as(kept ? Stores.persistentKeyValueStore("counts") : Stores.inMemoryKeyValueStore("counts")))
                .toStream().mapValues(String::valueOf).to(topic + "-counts", Produced.with(Serdes.String(), Serdes.String()));
        return builder;
    }

    private static void work(int milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException ending) {
            Thread.currentThread().interrupt();
        }
    }

    private static Properties config(Wish wish) {
        Properties config = new Properties();
        config.putAll(Map.of(
                "application.id", wish.text("group"), "client.id", wish.text("name"), "bootstrap.servers", wish.text("bootstrap"),
                "default.key.serde", Serdes.StringSerde.class, "default.value.serde", Serdes.StringSerde.class,
                "state.dir", wish.text("folder"), "commit.interval.ms", 200, "statestore.cache.max.bytes", 0,
                "auto.offset.reset", "earliest", "replication.factor", 1));
        config.putAll(Map.of("num.stream.threads", 1, "metadata.max.age.ms", 2000,
                "repartition.purge.interval.ms", 1_000, "processing.guarantee", wish.text("guarantee")));
        if ("streams".equals(wish.text("protocol"))) {
            config.put("group.protocol", "streams");
        } else {
            config.putAll(Map.of("session.timeout.ms", wish.number("session_ms"), "heartbeat.interval.ms", wish.number("heartbeat_ms"),
                    "probing.rebalance.interval.ms", 60_000));
        }
        if ("exactly_once_v2".equals(wish.text("guarantee"))) {
            config.put("producer.transaction.timeout.ms", wish.number("transaction_ms"));
        }
        if (wish.text("instance") != null) {
            config.put("group.instance.id", wish.text("instance"));
        }
        return config;
    }

    private void holds() {
        TreeSet<String> active = new TreeSet<>();
        TreeSet<String> standby = new TreeSet<>();
        streams.metadataForLocalThreads().forEach(thread -> {
            thread.activeTasks().forEach(task -> active.add(task.taskId().toString()));
            thread.standbyTasks().forEach(task -> standby.add(task.taskId().toString()));
        });
        String held = "\"tasks\": [" + listed(active) + "], \"standbys\": [" + listed(standby) + "]";
        if (!held.equals(told)) {
            told = held;
            Say.line("tasks", held);
        }
    }

    private static String listed(TreeSet<String> tasks) {
        return tasks.stream().map(Say::quoted).collect(Collectors.joining(", "));
    }

    private void run() throws InterruptedException {
        streams.start();
        Say.line("ready", "\"client\": " + Say.quoted("kafka-streams " + Library.version()));
        String order = orders.next();
        while (order == null) {
            holds();
            Thread.sleep(20); // how often this process looks at itself
            order = orders.next();
        }
        boolean leaves = "leave".equals(order); // the default of close() is false
        boolean clean = streams.close(new KafkaStreams.CloseOptions().timeout(Duration.ofSeconds(15)).leaveGroup(leaves));
        Say.line("left", "\"clean\": " + clean);
    }

    public static void main(String[] none) {
        Life.of(wish -> new Member(wish).run());
    }
}
