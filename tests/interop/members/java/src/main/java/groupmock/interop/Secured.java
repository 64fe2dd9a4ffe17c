package groupmock.interop;

import java.io.FileReader;
import java.io.IOException;
import java.io.Reader;
import java.time.Duration;
import java.util.List;
import java.util.Properties;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A KafkaConsumer of a secured listener, whose settings are in a file; the protocol is told in ../../README.md of the members. */
public final class Secured {
    private Secured() {
    }

    private static Properties settings(Wish wish) throws IOException {
        Properties settings = new Properties();
        try (Reader file = new FileReader(wish.text("properties"))) {
            settings.load(file);
        }
        settings.put("group.id", wish.text("group"));
        settings.put("client.id", wish.text("name"));
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        return settings;
    }

    private static void run(Wish wish) throws IOException {
        Say.line("ready", "\"client\": " + Say.quoted("kafka-clients " + Library.version()));
        long end = System.nanoTime() + wish.number("seconds") * 1_000_000_000L;
        try (KafkaConsumer<String, String> consumer =
                     new KafkaConsumer<>(settings(wish), new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(wish.text("topic")));
            while (System.nanoTime() < end) {
                for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(200))) {
                    Say.line("record", "\"offset\": " + each.offset());
                    consumer.commitSync(Duration.ofSeconds(10));
                    Say.line("committed", null);
                    return;
                }
            }
        } catch (Exception | OutOfMemoryError error) {
            StringBuilder text = new StringBuilder(String.valueOf(error.getMessage()));
            for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
                text.append(" (").append(cause).append(")");
            }
            Say.line("raised", "\"error\": " + Say.quoted(error.getClass().getSimpleName()) + ", \"text\": " + Say.quoted(text.toString()));
        }
    }

    public static void main(String[] none) {
        Life.of(wish -> {
            run(wish);
            Say.line("left", null);
        });
    }
}
