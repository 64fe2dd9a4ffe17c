package groupmock.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** One consumer on a thread of its own, since KafkaConsumer may only be used by one. */
final class Member implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(50);

    private final KafkaConsumer<String, String> consumer;
    private final List<String> values = new ArrayList<>();
    private final AtomicReference<CompletableFuture<Void>> wantedCommit = new AtomicReference<>();
    private final Thread thread;
    private volatile Set<Integer> owned = Set.of();
    private volatile int generation = -1;
    private volatile int rounds;
    private volatile boolean leaving;
    private volatile Throwable failure;

    Member(String name, Map<String, Object> config, String topic) {
        consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(topic), this);
        thread = new Thread(this::run, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        try {
            while (!leaving) {
                consumer.poll(POLL).forEach(this::take);
                snapshot();
                commitIfWanted();
            }
            consumer.close(Duration.ofSeconds(5));
        } catch (Throwable thrown) {
            failure = thrown;
        }
    }

    private void take(ConsumerRecord<String, String> record) {
        synchronized (values) {
            values.add(record.value());
        }
    }

    private void snapshot() {
        Set<Integer> now = new TreeSet<>();
        consumer.assignment().forEach(each -> now.add(each.partition()));
        owned = now;
        generation = consumer.groupMetadata().generationId();
    }

    private void commitIfWanted() {
        CompletableFuture<Void> wanted = wantedCommit.getAndSet(null);
        if (wanted != null) {
            consumer.commitSync(Duration.ofSeconds(10));
            wanted.complete(null);
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        rounds++;
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        // nothing to hand over: the scenario commits at known points
    }

    List<String> values() {
        synchronized (values) {
            return new ArrayList<>(values);
        }
    }

    /** Partitions held after the last poll. */
    Set<Integer> owned() {
        if (failure != null) {
            throw new IllegalStateException("member " + thread.getName() + " died", failure);
        }
        return owned;
    }

    int generation() {
        return generation;
    }

    /** How often an assignment arrived. */
    int rounds() {
        return rounds;
    }

    /** Commits the positions on the poll thread; bounded. */
    void commit() throws Exception {
        CompletableFuture<Void> wanted = new CompletableFuture<>();
        wantedCommit.set(wanted);
        wanted.get(15, java.util.concurrent.TimeUnit.SECONDS);
    }

    /** Closes; a dynamic member leaves the group, a static one just goes away. */
    void close() throws Exception {
        leaving = true;
        thread.join(10_000);
        if (thread.isAlive() || failure != null) {
            throw new IllegalStateException("member " + thread.getName() + " did not close cleanly", failure);
        }
    }
}
