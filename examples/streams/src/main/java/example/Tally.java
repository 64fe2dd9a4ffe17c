package example;

import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/** Counts orders by dish. Each instance has one thread, which is one member of the streams group. */
final class Tally {
    private Tally() {}

    static Topology topology() {
        var builder = new StreamsBuilder();
        builder.stream("orders", Consumed.with(Serdes.String(), Serdes.String()))
                .groupBy((key, dish) -> dish, Grouped.with("by-dish", Serdes.String(), Serdes.String()))
                .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("tally").withKeySerde(Serdes.String()))
                .toStream()
                .mapValues(String::valueOf)
                .to("tallies", Produced.with(Serdes.String(), Serdes.String()));
        return builder.build();
    }

    /** Makes an instance, which has to be started. {@code settings} override the settings below. */
    static KafkaStreams instance(String name, Map<String, Object> settings) {
        var all = new Properties();
        all.put("application.id", "tally");
        all.put("client.id", name);
        all.put("group.protocol", "streams");
        all.put("commit.interval.ms", 100);
        all.putAll(settings);
        return new KafkaStreams(topology(), all);
    }
}
