package groupmock.interop;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ConsumerGroupListing;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;

/** The AdminClient's calls as plain values; only calls that 2.8, 3.9 and 4.3 all have. */
@SuppressWarnings("deprecation") // the names that every one of these releases has
final class Desk implements AutoCloseable {
    private final Admin admin;

    Desk(String bootstrap) {
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap, "default.api.timeout.ms", "15000", "request.timeout.ms", "10000"));
    }

    static <T> T get(KafkaFuture<T> future) throws Exception {
        try {
            return future.get(20, TimeUnit.SECONDS);
        } catch (ExecutionException wrapped) {
            throw wrapped.getCause() instanceof Exception ? (Exception) wrapped.getCause() : wrapped;
        }
    }

    void createTopic(String topic, int partitions) throws Exception {
        get(admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all());
    }

    void deleteTopic(String topic) throws Exception {
        get(admin.deleteTopics(List.of(topic)).all());
    }

    boolean hasTopic(String topic) {
        try {
            return get(admin.listTopics().names()).contains(topic);
        } catch (Exception failed) {
            throw new IllegalStateException(failed);
        }
    }

    int nodes() throws Exception {
        return get(admin.describeCluster().nodes()).size();
    }

    ConsumerGroupDescription describe(String group) throws Exception {
        return get(admin.describeConsumerGroups(List.of(group)).all()).get(group);
    }

    Set<String> groups() throws Exception {
        return get(admin.listConsumerGroups().all()).stream().map(ConsumerGroupListing::groupId).collect(Collectors.toSet());
    }

    Map<Integer, Long> ends(String topic, int partitions) throws Exception {
        Map<TopicPartition, OffsetSpec> asked = new java.util.HashMap<>();
        for (int partition = 0; partition < partitions; partition++) {
            asked.put(new TopicPartition(topic, partition), OffsetSpec.latest());
        }
        Map<Integer, Long> found = new TreeMap<>();
        get(admin.listOffsets(asked).all()).forEach((tp, info) -> found.put(tp.partition(), info.offset()));
        return found;
    }

    Map<Integer, Long> committed(String group) throws Exception {
        Map<Integer, Long> found = new TreeMap<>();
        for (Map.Entry<TopicPartition, OffsetAndMetadata> each
                : get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()).entrySet()) {
            if (each.getValue() != null) {
                found.put(each.getKey().partition(), each.getValue().offset());
            }
        }
        return found;
    }

    void moveOffset(String group, String topic, int partition, long offset) throws Exception {
        get(admin.alterConsumerGroupOffsets(group,
                Map.of(new TopicPartition(topic, partition), new OffsetAndMetadata(offset))).all());
    }

    void forgetOffset(String group, String topic, int partition) throws Exception {
        get(admin.deleteConsumerGroupOffsets(group, Set.of(new TopicPartition(topic, partition))).all());
    }

    void remove(String group, Collection<String> instances) throws Exception {
        get(admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions(
                instances.stream().map(MemberToRemove::new).collect(Collectors.toList()))).all());
    }

    void deleteGroup(String group) throws Exception {
        get(admin.deleteConsumerGroups(List.of(group)).all());
    }

    @Override
    public void close() {
        admin.close(java.time.Duration.ofSeconds(5));
    }
}
