import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.processor.api.FixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorContext;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * One instance of an application that counts the records of its topics, per partition: a subtopology with a store and its changelog.
 * Arguments: a file of StreamsConfig's properties, the topics. It tells what it holds and what it got as lines of JSON, and closes at the end
 * of stdin.
 */
public final class CountingInstance {
    private static final String STORE = "counts";

    private CountingInstance() {
    }

    /** Counts, and tells the offset of each record. */
    private static final class Counter implements FixedKeyProcessor<byte[], byte[], byte[]> {
        private FixedKeyProcessorContext<byte[], byte[]> context;
        private KeyValueStore<String, Long> counts;

        @Override
        public void init(FixedKeyProcessorContext<byte[], byte[]> given) {
            context = given;
            counts = given.getStateStore(STORE);
        }

        @Override
        public void process(FixedKeyRecord<byte[], byte[]> taken) {
            RecordMetadata place = context.recordMetadata().orElseThrow();
            String name = place.topic() + "-" + place.partition();
            Long before = counts.get(name);
            counts.put(name, before == null ? 1L : before + 1);
            say(String.format("{\"event\": \"delivered\", \"topic\": \"%s\", \"partition\": %d, \"first\": %d, \"last\": %d}",
                    place.topic(), place.partition(), place.offset(), place.offset()));
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static KafkaStreams counting(Properties config, List<String> topics) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.addStateStore(Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(STORE), Serdes.String(), Serdes.Long()));
        builder.<byte[], byte[]>stream(topics).processValues(Counter::new, STORE);
        return new KafkaStreams(builder.build(), config);
    }

    private static String held(KafkaStreams streams) {
        TreeSet<String> places = new TreeSet<>();
        streams.metadataForLocalThreads().forEach(thread -> thread.activeTasks().forEach(task -> task.topicPartitions().forEach(
                place -> places.add("[\"" + place.topic() + "\", " + place.partition() + "]"))));
        return places.stream().collect(Collectors.joining(", ", "{\"event\": \"holds\", \"partitions\": [", "]}"));
    }

    /** Ends with status 1 when the application cannot go on. */
    private static void run(KafkaStreams streams, InputStream orders) throws IOException, InterruptedException {
        Thread closing = new Thread(() -> {
            try {
                while (orders.read() >= 0) { // Nothing but the end of it matters.
                    continue;
                }
            } catch (IOException gone) {
                // It is as good as the end.
            }
            streams.close(Duration.ofSeconds(30));
            Runtime.getRuntime().halt(0);
        });
        closing.setDaemon(true);
        closing.start();
        streams.start();
        String told = "";
        while (streams.state() != KafkaStreams.State.ERROR) {
            String now = held(streams);
            if (!now.equals(told)) {
                say(now);
                told = now;
            }
            Thread.sleep(20); // how often it looks at itself
        }
        Runtime.getRuntime().halt(1);
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Properties config = new Properties();
        try (InputStream file = new FileInputStream(arguments[0])) {
            config.load(file);
        }
        config.put("default.key.serde", Serdes.ByteArraySerde.class);
        config.put("default.value.serde", Serdes.ByteArraySerde.class);
        run(counting(config, List.of(arguments).subList(1, arguments.length)), System.in);
    }
}
