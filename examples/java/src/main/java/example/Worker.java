package example;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** The service takes orders from a share group, as from a queue. It accepts each order that is cooked,
 * releases one that failed, and renews the lock of one that is still being cooked. */
public final class Worker implements Runnable, AutoCloseable {
    private static final Map<String, Object> SETTINGS = Map.of(
            "group.id", "kitchen",
            "share.acknowledgement.mode", "explicit",
            "max.poll.records", 1);

    private final KafkaShareConsumer<String, String> consumer;
    private final Consumer<ConsumerRecord<String, String>> recipe;
    private final long renewMs;
    private final ExecutorService kitchen = Executors.newSingleThreadExecutor();
    private final Thread thread;
    private Future<?> work;

    /** Starts at once. The lock of an order is renewed every {@code renewMs}. {@code settings} override the consumer's settings above. */
    public Worker(String name, long renewMs, Map<String, Object> settings, Consumer<ConsumerRecord<String, String>> recipe) {
        var all = new HashMap<>(SETTINGS);
        all.put("client.id", name);
        all.putAll(settings);
        this.consumer = new KafkaShareConsumer<>(all, new StringDeserializer(), new StringDeserializer());
        this.recipe = recipe;
        this.renewMs = renewMs;
        this.thread = new Thread(this, name);
        thread.start();
    }

    @Override
    public void run() {
        try (consumer) {
            consumer.subscribe(List.of("orders"));
            while (true) {
                for (var order : consumer.poll(Duration.ofSeconds(1))) {
                    consumer.acknowledge(order, progress(order));
                    // A refusal says that the lock has ended: somebody else has the order, or will get it.
                    consumer.commitSync().values().forEach(refusal -> refusal.ifPresent(System.err::println));
                }
            }
        } catch (WakeupException | InterruptedException closed) {
            kitchen.shutdownNow(); // The consumer leaves the group, and releases what it has.
        }
    }

    /** Says what to do with an order that is being cooked. After RENEW the next poll returns the same order once more. */
    private AcknowledgeType progress(ConsumerRecord<String, String> order) throws InterruptedException {
        if (work == null) {
            work = kitchen.submit(() -> recipe.accept(order));
        }
        try {
            work.get(renewMs, TimeUnit.MILLISECONDS);
            work = null;
            return AcknowledgeType.ACCEPT;
        } catch (TimeoutException atWork) {
            return AcknowledgeType.RENEW;
        } catch (ExecutionException failed) {
            work = null;
            return AcknowledgeType.RELEASE;
        }
    }

    /** Leaves the group. */
    @Override
    public void close() throws InterruptedException {
        kitchen.shutdown();
        consumer.wakeup();
        thread.join();
    }
}
