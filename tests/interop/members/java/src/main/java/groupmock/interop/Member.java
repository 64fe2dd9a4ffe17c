package groupmock.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A member that is a KafkaConsumer; the protocol is told in ../../README.md of the members. */
public final class Member {
    static final Map<String, Class<?>> ASSIGNORS = Map.of(
            "range", RangeAssignor.class, "roundrobin", RoundRobinAssignor.class,
            "sticky", StickyAssignor.class, "cooperative-sticky", CooperativeStickyAssignor.class);

    private final Wish wish;
    private final Orders orders = new Orders();
    private final KafkaConsumer<String, String> consumer;
    private List<Integer> told;

    private Member(Wish wish) {
        this.wish = wish;
        consumer = new KafkaConsumer<>(config(wish), new StringDeserializer(), new StringDeserializer());
    }

    private static Map<String, Object> config(Wish wish) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", wish.text("bootstrap"));
        config.put("group.id", wish.text("group"));
        config.put("client.id", wish.text("name"));
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", false);
        config.put("fetch.max.wait.ms", 200);
        if ("consumer".equals(wish.text("protocol"))) { // session and heartbeat are the broker's (KIP-848)
            config.put("group.protocol", "consumer");
            config.put("group.remote.assignor", wish.text("assignor"));
        } else {
            config.put("partition.assignment.strategy", List.of(ASSIGNORS.get(wish.text("assignor"))));
            config.put("heartbeat.interval.ms", wish.number("heartbeat_ms"));
            config.put("session.timeout.ms", wish.number("session_ms"));
        }
        if (wish.text("instance") != null) {
            config.put("group.instance.id", wish.text("instance"));
        }
        return config;
    }

    private void holds() {
        List<Integer> held = new ArrayList<>();
        for (TopicPartition each : consumer.assignment()) {
            held.add(each.partition());
        }
        Collections.sort(held);
        if (!held.equals(told)) {
            told = held;
            Say.line("holds", "\"partitions\": " + held);
        }
    }

    /** An expression goes to the coordinator (KIP-848); releases below 4.0, which this program is built with too, have no class for it. */
    private void subscribe() throws ReflectiveOperationException {
        String pattern = wish.text("pattern");
        if (pattern == null) {
            consumer.subscribe(List.of(wish.text("topic")));
            return;
        }
        Class<?> type = Class.forName("org.apache.kafka.clients.consumer.SubscriptionPattern");
        Object expression = type.getConstructor(String.class).newInstance(pattern);
        KafkaConsumer.class.getMethod("subscribe", type).invoke(consumer, expression);
    }

    private void run() throws ReflectiveOperationException {
        subscribe();
        Say.line("ready", "\"client\": " + Say.quoted("kafka-clients " + Library.version()));
        while (true) {
            Iterable<ConsumerRecord<String, String>> batch = consumer.poll(Duration.ofMillis(50));
            holds();
            batch.forEach(each -> Say.line("record", "\"partition\": " + each.partition() + ", \"offset\": " + each.offset()
                    + ", \"value\": " + Say.quoted(each.value())));
            String order = orders.next();
            if ("commit".equals(order)) {
                consumer.commitSync(Duration.ofSeconds(10));
                Say.line("committed", null);
            } else if ("leave".equals(order)) {
                consumer.close(Duration.ofSeconds(5));
                Say.line("left", null);
                return;
            }
        }
    }

    public static void main(String[] none) {
        Life.of(wish -> new Member(wish).run());
    }
}
