package example;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** The service cooks orders and commits each when it is cooked, so that none is lost. Some are cooked twice. */
public final class Cook implements Runnable, AutoCloseable {
    private static final Map<String, Object> SETTINGS = Map.of(
            "group.id", "kitchen",
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false,
            "max.poll.records", 1);

    private final KafkaConsumer<String, String> consumer;
    private final Consumer<String> recipe;
    private final Thread thread;

    /** Starts at once. {@code settings} override the consumer's settings above. */
    public Cook(String name, Map<String, Object> settings, Consumer<String> recipe) {
        var all = new HashMap<>(SETTINGS);
        all.put("client.id", name);
        all.putAll(settings);
        this.consumer = new KafkaConsumer<>(all, new StringDeserializer(), new StringDeserializer());
        this.recipe = recipe;
        this.thread = new Thread(this, name);
        thread.start();
    }

    @Override
    public void run() {
        try (consumer) {
            consumer.subscribe(List.of("orders"));
            while (true) {
                for (var order : consumer.poll(Duration.ofSeconds(1))) {
                    recipe.accept(order.value());
                    commit(new TopicPartition(order.topic(), order.partition()), order.offset() + 1);
                }
            }
        } catch (WakeupException closed) {
            consumer.close(CloseOptions.timeout(Duration.ofSeconds(1)));
        }
    }

    private void commit(TopicPartition partition, long next) {
        try {
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(next)));
        } catch (CommitFailedException late) {
            // The group went on without us, and the partition's new owner cooks the order again. The next poll joins again.
        }
    }

    /** Leaves the group. */
    @Override
    public void close() throws InterruptedException {
        consumer.wakeup();
        thread.join();
    }
}
