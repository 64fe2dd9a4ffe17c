package groupmock.interop;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Consume, transform, produce by orders (KIP-447): `topic` -> `topic`-done, output and offsets in one transaction. Orders: `begin N` takes that many
 * records into a transaction and leaves it open, `commit`, `abort` end it, `look` tells what the coordinator says of the transactional id.
 */
public final class Ordered {
    private final Wish wish;
    private final Orders orders = new Orders();
    private final KafkaConsumer<String, String> consumer;
    private final KafkaProducer<String, String> producer;
    private final Admin admin;

    private Ordered(Wish wish) {
        this.wish = wish;
        Map<String, Object> common = Map.of("bootstrap.servers", wish.text("bootstrap"), "client.id", wish.text("name"));
        Map<String, Object> reads = new HashMap<>(common);
        reads.putAll(Map.of("group.id", wish.text("group"), "auto.offset.reset", "earliest", "enable.auto.commit", false,
                "isolation.level", "read_committed", "max.poll.records", 1, "session.timeout.ms", wish.number("session_ms")));
        Map<String, Object> writes = new HashMap<>(common);
        writes.putAll(Map.of("transactional.id", wish.text("transactional"), "transaction.timeout.ms", wish.number("timeout_ms"),
                "max.block.ms", 20_000));
        consumer = new KafkaConsumer<>(reads, new StringDeserializer(), new StringDeserializer());
        producer = new KafkaProducer<>(writes, new StringSerializer(), new StringSerializer());
        admin = Admin.create(common);
    }

    private void begin(int count) {
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (int left = count; left > 0;) {
            for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(100))) {
                producer.send(new ProducerRecord<>(wish.text("topic") + "-done", each.key(), each.value()));
                offsets.put(new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
                left--;
            }
        }
        producer.flush(); // before the offsets, so that the requests have one order
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
    }

    /** Where the transaction of these records is no more they are read again. */
    private void rewind() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition each : consumer.assignment()) {
            OffsetAndMetadata at = committed.get(each);
            consumer.seek(each, at == null ? 0 : at.offset());
        }
    }

    private void end(String order, Runnable how) {
        String error = null;
        try {
            how.run();
        } catch (KafkaException refused) {
            error = refused.getClass().getSimpleName();
        }
        Say.line("ended", "\"how\": " + Say.quoted(order) + ", \"error\": " + (error == null ? "null" : Say.quoted(error)));
    }

    private TransactionDescription described() throws InterruptedException {
        String id = wish.text("transactional");
        while (true) {
            try {
                return admin.describeTransactions(List.of(id)).description(id).get();
            } catch (ExecutionException trouble) {
                Thread.sleep(20); // its coordinator is being looked for
            }
        }
    }

    private void look() throws InterruptedException {
        TransactionDescription found = described();
        while (found.state() == TransactionState.PREPARE_COMMIT || found.state() == TransactionState.PREPARE_ABORT) {
            found = described();
        }
        Say.line("looked", "\"state\": " + Say.quoted(found.state().toString()) + ", \"epoch\": " + found.producerEpoch());
    }

    private void run() throws InterruptedException {
        consumer.subscribe(List.of(wish.text("topic")));
        producer.initTransactions();
        Say.line("ready", "\"client\": " + Say.quoted("kafka-clients " + Library.version()));
        while (true) {
            String order = orders.next();
            if (order == null) {
                Thread.sleep(5); // how often this process looks for orders
            } else if (order.startsWith("begin ")) {
                begin(Integer.parseInt(order.substring(6)));
                Say.line("begun", null);
            } else if ("commit".equals(order)) {
                end(order, producer::commitTransaction);
            } else if ("abort".equals(order)) {
                end(order, producer::abortTransaction);
                rewind();
            } else if ("look".equals(order)) {
                look();
            } else if ("leave".equals(order)) {
                consumer.close(Duration.ofSeconds(5));
                producer.close(Duration.ofSeconds(5));
                Say.line("left", null);
                return;
            }
        }
    }

    public static void main(String[] none) {
        Life.of(wish -> new Ordered(wish).run());
    }
}
