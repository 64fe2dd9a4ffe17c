package groupmock.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A member that consumes, transforms and produces exactly once, as KafkaProducer's documentation writes it: fatal errors end the process,
 * any other aborts the transaction and goes back to what is committed. The protocol is told in ../../README.md of the members.
 */
public final class Transformer {
    private static final int BATCH = 8;
    private static final int TRIES = 4;

    private final Wish wish;
    private final Orders orders = new Orders();
    private final KafkaProducer<String, String> producer;
    private final KafkaConsumer<String, String> consumer;

    private Transformer(Wish wish) {
        this.wish = wish;
        Map<String, Object> shared = new HashMap<>();
        shared.put("bootstrap.servers", wish.text("bootstrap"));
        shared.put("client.id", wish.text("name"));
        shared.put("metadata.max.age.ms", 2000);
        shared.put("request.timeout.ms", wish.number("request_ms"));
        shared.put("default.api.timeout.ms", 20_000);
        producer = new KafkaProducer<>(writing(shared), new StringSerializer(), new StringSerializer());
        consumer = new KafkaConsumer<>(reading(shared), new StringDeserializer(), new StringDeserializer());
    }

    private Map<String, Object> writing(Map<String, Object> shared) {
        Map<String, Object> config = new HashMap<>(shared);
        config.remove("default.api.timeout.ms");
        config.put("transactional.id", wish.text("transactional_id"));
        config.put("transaction.timeout.ms", wish.number("timeout_ms"));
        config.put("delivery.timeout.ms", 20_000);
        config.put("max.block.ms", 20_000);
        config.put("linger.ms", 1);
        return config;
    }

    private Map<String, Object> reading(Map<String, Object> shared) {
        Map<String, Object> config = new HashMap<>(shared);
        config.put("group.id", wish.text("group"));
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", false);
        config.put("isolation.level", "read_committed");
        config.put("session.timeout.ms", wish.number("session_ms"));
        config.put("heartbeat.interval.ms", wish.number("heartbeat_ms"));
        config.put("fetch.max.wait.ms", 200);
        config.put("max.poll.records", BATCH);
        return config;
    }

    private void run() {
        repeated(producer::initTransactions);
        consumer.subscribe(List.of(wish.text("source")));
        Say.line("ready", "\"client\": " + Say.quoted("kafka-clients " + Library.version()));
        while (!"leave".equals(orders.next())) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
            if (!records.isEmpty()) {
                transform(records);
            }
        }
        consumer.close(Duration.ofSeconds(5));
        producer.close(Duration.ofSeconds(5));
        Say.line("left", null);
    }

    /** A call that may be made again when its time was over is. */
    private static void repeated(Runnable call) {
        for (int left = TRIES; ; left--) {
            try {
                call.run();
                return;
            } catch (TimeoutException late) {
                Say.line("trouble", "\"why\": " + Say.quoted(late.toString()));
                if (left == 1) {
                    throw late;
                }
            }
        }
    }

    private void transform(ConsumerRecords<String, String> records) {
        Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
        try {
            producer.beginTransaction();
            for (ConsumerRecord<String, String> each : records) {
                producer.send(new ProducerRecord<>(wish.text("sink"), each.value()));
                ends.put(new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
            }
            repeated(() -> producer.sendOffsetsToTransaction(ends, consumer.groupMetadata()));
            repeated(producer::commitTransaction);
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException fatal) {
            throw fatal;
        } catch (KafkaException failed) {
            Say.line("trouble", "\"why\": " + Say.quoted(failed.toString()));
            repeated(producer::abortTransaction);
            rewind();
            return;
        }
        for (TopicPartition partition : records.partitions()) {
            List<Long> offsets = new ArrayList<>();
            records.records(partition).forEach(each -> offsets.add(each.offset()));
            Say.line("done", "\"partition\": " + partition.partition() + ", \"offsets\": " + offsets);
        }
    }

    /** Read on from the committed offsets of what it still has. */
    private void rewind() {
        Set<TopicPartition> held = consumer.assignment();
        consumer.committed(held).forEach((partition, committed) -> consumer.seek(partition, committed == null ? 0 : committed.offset()));
    }

    public static void main(String[] none) {
        Life.of(wish -> new Transformer(wish).run());
    }
}
