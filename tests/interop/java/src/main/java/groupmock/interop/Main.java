package groupmock.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.serialization.StringSerializer;

/** Usage: KAFKA_BOOTSTRAP=host:port Main ASSIGNOR. Exit status 0 only if every fact is as Kafka's own. */
@SuppressWarnings("deprecation") // describe().state(): the accessor that 2.8, 3.9 and 4.3 all have
public final class Main {
    private static final int PARTITIONS = 6;
    private static final int BATCH = 60;
    private static final long LIMIT_SECONDS = 55;
    private static final Map<String, Class<?>> ASSIGNORS = Map.of(
            "range", RangeAssignor.class, "roundrobin", RoundRobinAssignor.class,
            "sticky", StickyAssignor.class, "cooperative-sticky", CooperativeStickyAssignor.class);

    private final String bootstrap;
    private final String assignor;
    private final Facts facts;
    private final Desk desk;
    private final String topic;
    private final String group;
    private final KafkaProducer<String, String> producer;

    private Main(String bootstrap, String assignor, Facts facts) {
        this.bootstrap = bootstrap;
        this.assignor = assignor;
        this.facts = facts;
        String suffix = assignor + "-" + Long.toHexString(System.nanoTime());
        topic = "interop-java-" + suffix;
        group = "interop-java-group-" + suffix;
        desk = new Desk(bootstrap);
        producer = new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap, "delivery.timeout.ms", 15000,
                "request.timeout.ms", 10000, "linger.ms", 0), new StringSerializer(), new StringSerializer());
    }

    public static void main(String[] arguments) {
        String bootstrap = System.getenv("KAFKA_BOOTSTRAP");
        String assignor = arguments.length == 1 ? arguments[0] : "";
        if (bootstrap == null || !ASSIGNORS.containsKey(assignor)) {
            System.err.println("usage: KAFKA_BOOTSTRAP=host:port Main " + new TreeSet<>(ASSIGNORS.keySet()));
            System.exit(2);
        }
        Facts facts = new Facts("kafka-clients " + Library.version());
        facts.put("assignor", assignor);
        watchdog(facts);
        long began = System.nanoTime();
        String failure = null;
        try {
            new Main(bootstrap, assignor, facts).scenario();
        } catch (Throwable thrown) {
            thrown.printStackTrace();
            failure = String.valueOf(thrown.getCause() == null ? thrown : thrown + " / " + thrown.getCause());
        }
        facts.put("ms", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began));
        System.out.println(facts.json(failure));
        System.out.flush();
        Runtime.getRuntime().halt(failure == null ? 0 : 1);
    }

    private static void watchdog(Facts facts) {
        Thread guard = new Thread(() -> {
            try {
                Thread.sleep(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
            } catch (InterruptedException ended) {
                return;
            }
            System.out.println(facts.json("still running after " + LIMIT_SECONDS + " s"));
            System.out.flush();
            Runtime.getRuntime().halt(1);
        }, "watchdog");
        guard.setDaemon(true);
        guard.start();
    }

    private void scenario() throws Exception {
        createTopic();
        Member first = alone();
        Member second = member("second", group, null);
        joined(first, second);
        deliveredOnce(first, second);
        described();
        takeover(first, second);
        resumed();
        offsetsByAdmin();
        staticRestarts();
        deleted();
        producer.close(Duration.ofSeconds(5));
        desk.close();
    }

    private void createTopic() throws Exception {
        facts.step("create topic");
        facts.put("nodes", desk.nodes());
        desk.createTopic(topic, PARTITIONS);
        facts.await("the topic to be listed", () -> desk.hasTopic(topic), () -> "not listed");
        facts.same("partitions", PARTITIONS, producer.partitionsFor(topic).size());
    }

    private Member member(String name, String inGroup, String instance) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("group.id", inGroup);
        config.put("client.id", "interop-" + name);
        config.put("partition.assignment.strategy", List.of(ASSIGNORS.get(assignor)));
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", false);
        config.put("heartbeat.interval.ms", 200);
        config.put("session.timeout.ms", 10_000);
        if (instance != null) {
            config.put("group.instance.id", instance);
        }
        return new Member(name, config, topic);
    }

    /** The first member holds everything before the second comes, so that the second round really moves partitions. */
    private Member alone() {
        facts.step("one member joins");
        Member first = member("first", group, null);
        facts.await("all partitions", () -> first.owned().size() == PARTITIONS, () -> first.owned().toString());
        facts.put("generation_alone", first.generation());
        return first;
    }

    private void joined(Member first, Member second) {
        facts.step("a second member joins");
        int alone = first.generation();
        facts.await("three partitions each", () -> shared(first, second), () -> first.owned() + " " + second.owned());
        facts.put("generation_joined", first.generation());
        facts.same("generation_moved", true, first.generation() > alone);
        facts.put("owned_first", first.owned());
        facts.put("owned_second", second.owned());
    }

    private static boolean shared(Member first, Member second) {
        Set<Integer> all = new TreeSet<>(first.owned());
        all.addAll(second.owned());
        return first.owned().size() == PARTITIONS / 2 && second.owned().size() == PARTITIONS / 2 && all.size() == PARTITIONS
                && first.generation() == second.generation();
    }

    private List<String> produce(String prefix) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        List<String> values = new ArrayList<>();
        for (int index = 0; index < BATCH; index++) {
            values.add(prefix + "-" + index);
            sent.add(producer.send(new ProducerRecord<>(topic, "key-" + index, prefix + "-" + index)));
        }
        Set<Integer> touched = new TreeSet<>();
        for (Future<RecordMetadata> each : sent) {
            touched.add(each.get(20, TimeUnit.SECONDS).partition());
        }
        facts.same("produced_to_" + prefix, PARTITIONS, touched.size());
        Collections.sort(values);
        return values;
    }

    private static List<String> got(Member... members) {
        List<String> all = new ArrayList<>();
        Arrays.stream(members).forEach(each -> all.addAll(each.values()));
        Collections.sort(all);
        return all;
    }

    private void deliveredOnce(Member first, Member second) throws Exception {
        facts.step("delivered once");
        List<String> wanted = produce("a");
        facts.await("all records", () -> got(first, second).size() >= BATCH, () -> got(first, second).size() + " records");
        facts.same("delivered_once", true, wanted.equals(got(first, second)));
        facts.same("both_got_some", true, !first.values().isEmpty() && !second.values().isEmpty());
        first.commit();
        second.commit();
        facts.same("committed", desk.ends(topic, PARTITIONS), desk.committed(group));
    }

    private void described() throws Exception {
        facts.step("describe and list groups");
        ConsumerGroupDescription described = desk.describe(group);
        facts.same("state", "Stable", described.state().toString());
        facts.same("members", 2, described.members().size());
        facts.same("protocol", assignor, described.partitionAssignor());
        int held = described.members().stream().mapToInt(each -> each.assignment().topicPartitions().size()).sum();
        facts.same("described_partitions", PARTITIONS, held);
        facts.same("listed", true, desk.groups().contains(group));
    }

    private void takeover(Member first, Member second) throws Exception {
        facts.step("one member leaves");
        long left = System.nanoTime();
        second.close();
        facts.await("all partitions with the first", () -> first.owned().size() == PARTITIONS, () -> first.owned().toString());
        facts.put("takeover_ms", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - left));
        List<String> wanted = new ArrayList<>(produce("b"));
        int before = got(second).size();
        facts.await("the second batch", () -> first.values().size() + before >= 2 * BATCH, () -> first.values().size() + " records");
        List<String> since = got(first, second);
        since.removeIf(each -> each.startsWith("a-"));
        facts.same("takeover_delivered_once", true, since.equals(wanted));
        facts.same("takeover_redelivered", 0, got(first, second).size() - 2 * BATCH);
        first.commit();
        first.close();
        facts.same("state_after_leave", "Empty", desk.describe(group).state().toString());
    }

    private void resumed() throws Exception {
        facts.step("restart resumes from the commit");
        List<String> wanted = produce("c");
        Member again = member("again", group, null);
        facts.await("the third batch", () -> again.values().containsAll(wanted), () -> again.values().size() + " records");
        facts.same("resumed_redelivered", 0, again.values().size() - BATCH);
        again.commit();
        again.close();
        facts.same("committed_at_end", desk.ends(topic, PARTITIONS), desk.committed(group));
    }

    private void offsetsByAdmin() throws Exception {
        facts.step("offsets moved and deleted by the admin");
        desk.moveOffset(group, topic, 0, 1);
        facts.same("moved_offset", 1L, desk.committed(group).get(0));
        desk.forgetOffset(group, topic, 0);
        facts.same("forgotten_offset", false, desk.committed(group).containsKey(0));
    }

    private void staticRestarts() throws Exception {
        facts.step("static members restart");
        String statics = group + "-static";
        Member one = member("one", statics, "instance-1");
        Member two = member("two", statics, "instance-2");
        facts.await("three partitions each", () -> shared(one, two), () -> one.owned() + " " + two.owned());
        int generation = one.generation();
        Member oneAgain = restarted(one, "one", statics, "instance-1", two);
        Member twoAgain = restarted(two, "two", statics, "instance-2", oneAgain);
        facts.same("static_generation_before", generation, oneAgain.generation());
        facts.same("static_generation_after", generation, twoAgain.generation());
        oneAgain.close();
        twoAgain.close();
        facts.same("static_members_stay", 2, desk.describe(statics).members().size());
        desk.remove(statics, List.of("instance-1", "instance-2"));
        facts.same("static_state_after_removal", "Empty", desk.describe(statics).state().toString());
        desk.deleteGroup(statics);
    }

    /** Stops one static member and starts it anew: it must get its old partitions, and the other must notice nothing. */
    private Member restarted(Member old, String name, String statics, String instance, Member other) throws Exception {
        Set<Integer> had = old.owned();
        int rounds = other.rounds();
        old.close();
        Member fresh = member(name, statics, instance);
        facts.await(instance + " to get its partitions again", () -> fresh.owned().equals(had), () -> fresh.owned().toString());
        facts.same("static_" + instance + "_disturbed_others", 0, other.rounds() - rounds);
        return fresh;
    }

    private void deleted() throws Exception {
        facts.step("delete group and topic");
        desk.deleteGroup(group);
        facts.same("listed_after_delete", false, desk.groups().contains(group));
        facts.same("state_after_delete", "Dead", stateOfMissing());
        desk.deleteTopic(topic);
        facts.await("the topic to go", () -> !desk.hasTopic(topic), () -> "still listed");
    }

    /** From 4.0 clients (DescribeGroups v6) say GroupIdNotFound where older ones say a group in state Dead. */
    private String stateOfMissing() throws Exception {
        try {
            return desk.describe(group).state().toString();
        } catch (GroupIdNotFoundException missing) {
            return "Dead";
        }
    }
}
