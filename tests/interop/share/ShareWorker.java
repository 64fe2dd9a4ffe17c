import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Works in a share group, and prints what was delivered and answered, as share_worker.py does: BOOTSTRAP GROUP TOPIC HOW COUNT. */
public final class ShareWorker {
    private static final Map<Long, AcknowledgeType> ANSWERS =
            Map.of(3L, AcknowledgeType.RELEASE, 4L, AcknowledgeType.REJECT, 9L, AcknowledgeType.RELEASE);

    private ShareWorker() { }

    private static List<ConsumerRecord<byte[], byte[]>> take(KafkaShareConsumer<byte[], byte[]> worker, int count) {
        var records = new ArrayList<ConsumerRecord<byte[], byte[]>>();
        while (records.size() < count) {
            worker.poll(Duration.ofMillis(500)).forEach(records::add);
        }
        var told = records.stream().sorted(Comparator.comparing(ConsumerRecord::offset))
                .map(each -> "[" + each.offset() + ", " + each.deliveryCount().orElseThrow() + "]").collect(Collectors.joining(", "));
        System.out.println("[\"got\", [" + told + "]]");
        return records;
    }

    private static void commit(KafkaShareConsumer<byte[], byte[]> worker) {
        var told = worker.commitSync().values().stream()
                .map(each -> each.map(error -> "\"" + Errors.forException(error).name() + "\"").orElse("null")).collect(Collectors.joining(", "));
        System.out.println("[\"committed\", [" + told + "]]");
    }

    private static void explicit(KafkaShareConsumer<byte[], byte[]> worker, KafkaShareConsumer<byte[], byte[]> other, int count) {
        for (var record : take(worker, count)) {
            worker.acknowledge(record, ANSWERS.getOrDefault(record.offset(), AcknowledgeType.ACCEPT));
        }
        commit(worker);
        var two = take(worker, 2);
        worker.acknowledge(two.get(0));
        commit(worker);
        System.out.println("[\"holding\"]");
        var again = take(other, 1).get(0);
        worker.acknowledge(two.get(1));
        commit(worker);
        other.acknowledge(again);
        commit(other);
    }

    public static void main(String[] args) throws Exception {
        var how = args[3];
        var count = Integer.parseInt(args[4]);
        var settings = new HashMap<String, Object>(Map.of("bootstrap.servers", args[0], "group.id", args[1],
                "share.acknowledgement.mode", how.equals("implicit") ? "implicit" : "explicit"));
        settings.put("client.id", "one");
        var worker = new KafkaShareConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        settings.put("client.id", "two");
        var other = new KafkaShareConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        worker.subscribe(List.of(args[2]));
        other.subscribe(List.of(args[2]));
        switch (how) {
            case "explicit" -> explicit(worker, other, count);
            case "implicit" -> {
                take(worker, count);
                var second = new ArrayList<Long>();
                worker.poll(Duration.ofSeconds(2)).forEach(each -> second.add(each.offset()));
                System.out.println("[\"second\", " + second + "]");
            }
            default -> {
                var records = take(worker, count);
                if (how.equals("crash")) {
                    System.in.read();
                }
                records.forEach(worker::acknowledge);
                commit(worker);
            }
        }
        worker.close();
        other.close();
    }
}
