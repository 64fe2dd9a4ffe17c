package groupmock.interop;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A KafkaConsumer as users write it, for `groupmock audit --drive`: all from the environment, automatic commits, closed on SIGTERM. */
public final class Audited {
    private Audited() {
    }

    private static Map<String, Object> config() {
        Map<String, String> env = System.getenv();
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", env.get("GROUPMOCK_BOOTSTRAP"));
        config.put("group.id", env.get("GROUPMOCK_GROUP"));
        config.put("client.id", env.get("GROUPMOCK_CLIENT_ID"));
        config.put("auto.offset.reset", "earliest");
        config.put("auto.commit.interval.ms", 500);
        if (env.get("AUDITED_PROTOCOL") != null) { // session and heartbeat are the broker's (KIP-848)
            config.put("group.protocol", env.get("AUDITED_PROTOCOL"));
        } else {
            config.put("session.timeout.ms", 6000);
            config.put("heartbeat.interval.ms", 500);
        }
        config.put("max.poll.interval.ms", 20000);
        config.put("metadata.max.age.ms", 2000);
        config.put("request.timeout.ms", 8000);
        if (env.get("GROUPMOCK_INSTANCE_ID") != null) {
            config.put("group.instance.id", env.get("GROUPMOCK_INSTANCE_ID"));
        }
        if (env.get("AUDITED_ASSIGNOR") != null) {
            config.put("partition.assignment.strategy", List.of(Member.ASSIGNORS.get(env.get("AUDITED_ASSIGNOR"))));
        }
        return config;
    }

    public static void main(String[] none) throws InterruptedException {
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(config(), new StringDeserializer(), new StringDeserializer());
        Thread here = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup();
            try {
                here.join(10_000);
            } catch (InterruptedException gone) {
                Thread.currentThread().interrupt();
            }
        }));
        try {
            consumer.subscribe(List.of(System.getenv("GROUPMOCK_TOPIC")));
            while (true) {
                consumer.poll(Duration.ofMillis(200));
            }
        } catch (WakeupException asked) {
            // SIGTERM
        } catch (RuntimeException failed) {
            failed.printStackTrace();
        } finally {
            consumer.close(Duration.ofSeconds(5));
        }
    }
}
