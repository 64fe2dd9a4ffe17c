// Kafka's own group, target builder and assignors (4.3) as a judge: what happened to a consumer group in, its targets out. JSON lines:
//   {"assignor":"uniform","topics":[[name,id,partitions]...],"regexes":{regex:[name...]},"steps":[step...]}
//       -> {"steps":[[[member,[[id,[partition...]]...]]...]...]}   after each step: members in the order of the group, targets as they are stored
//   step: {"do":"put","member","instance","names":[...],"regex","target":[[id,[partition...]]...]}   a member with that target is in the group
//         {"do":"heartbeat","member","instance","names","regex"}   joins, subscribes anew, or takes the place of the static member of that
//                                                                 instance; its heartbeat computes
//         {"do":"join",...}                     the same, but no target is computed: the assignment interval
//         {"do":"leave","member"}               {"do":"topics","topics":[[name,id,partitions]...]}
//   {"share":true,"topics":[...],"initialized":{id:[partition...]},"alike":true,"members":[[id,[name...],[[topic id,[partition...]]...]]...]}
//       -> {"targets":[[member,[[id,[partition...]]...]]...]}   the `simple` assignor of share groups: members in the order of the group, with their targets
//   {"capacity":16,"keys":"+5 ?7 -5"}  -> {"order":[7]}            a HashMap: + put, ? computeIfAbsent, - remove
// Ids are hex. The group is told what its records would tell it, in their order. Start: java -cp "$(oracle/kafka.py fetch --version 4.3.0)" KafkaAssignors.java
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.*;
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.coordinator.common.runtime.*;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.*;
import org.apache.kafka.coordinator.group.generated.*;
import org.apache.kafka.coordinator.group.modern.*;
import org.apache.kafka.coordinator.group.modern.consumer.*;
import org.apache.kafka.timeline.SnapshotRegistry;

public class KafkaAssignors {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            ObjectNode answer;
            try {
                JsonNode asked = JSON.readTree(line);
                answer = asked.has("keys") ? keys(asked) : asked.has("share") ? shared(asked) : new KafkaAssignors(asked).played(asked.get("steps"));
            } catch (Exception thrown) {
                answer = JSON.createObjectNode().put("error", thrown.toString());
            }
            out.println(JSON.writeValueAsString(answer));
        }
        out.flush();
    }

    static ObjectNode keys(JsonNode asked) {
        var map = new HashMap<Integer, Boolean>(asked.get("capacity").asInt());
        for (String each : asked.get("keys").asText().split(" ")) {
            int key = Integer.parseInt(each.substring(1));
            switch (each.charAt(0)) {
                case '+' -> map.put(key, true);
                case '?' -> map.computeIfAbsent(key, absent -> true);
                default -> map.remove(key);
            }
        }
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode order = answer.putArray("order");
        map.keySet().forEach(order::add);
        return answer;
    }

    static ObjectNode shared(JsonNode asked) {
        var topics = new Topics(asked.get("topics"));
        var initialized = new HashMap<Uuid, Set<Integer>>();
        asked.get("initialized").properties().forEach(each -> initialized.put(uuid(each.getKey()), numbers(each.getValue())));
        var specs = new HashMap<String, MemberSubscriptionAndAssignmentImpl>();
        var before = new LinkedHashMap<String, Assignment>();
        for (JsonNode each : asked.get("members")) {
            var target = Assignment.fromRecord(targetOf(each.get(2)));
            before.put(each.get(0).asText(), target);
            specs.put(each.get(0).asText(), new MemberSubscriptionAndAssignmentImpl(Optional.empty(), Optional.empty(),
                new TopicIds(new HashSet<>(texts(each.get(1))), topics), target));
        }
        var type = asked.get("alike").asBoolean() ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        var computed = new SimpleAssignor().assign(
            new GroupSpecImpl(specs, type, Map.of(), Optional.of(initialized)), new SubscribedTopicDescriberImpl(topics)).members();
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode told = answer.putArray("targets");
        before.forEach((memberId, old) -> {
            var now = new Assignment(computed.containsKey(memberId) ? computed.get(memberId).partitions() : Map.of());
            told(told.addArray().add(memberId).addArray(), now.equals(old) ? old : Assignment.fromRecord(record(now)));
        });
        return answer;
    }

    static Set<Integer> numbers(JsonNode listed) {
        var numbers = new HashSet<Integer>();
        listed.forEach(each -> numbers.add(each.asInt()));
        return numbers;
    }

    final ConsumerGroup group = new ConsumerGroup(new LogContext(), new SnapshotRegistry(new LogContext()), "group");
    final ConsumerGroupPartitionAssignor assignor;
    final JsonNode regexes;
    Topics topics;

    KafkaAssignors(JsonNode asked) {
        assignor = asked.get("assignor").asText().equals("range") ? new RangeAssignor() : new UniformAssignor();
        topics = new Topics(asked.get("topics"));
        regexes = asked.get("regexes");
    }

    ObjectNode played(JsonNode steps) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode told = answer.putArray("steps");
        for (JsonNode step : steps) {
            switch (step.get("do").asText()) {
                case "put" -> put(member(step, true), step.get("target"));
                case "heartbeat" -> heartbeat(step, true);
                case "join" -> heartbeat(step, false);
                case "leave" -> leave(step.get("member").asText());
                default -> topics = new Topics(step.get("topics"));
            }
            regexes.fieldNames().forEachRemaining(regex -> {
                if (group.numSubscribedMembers(regex) == 0) group.removeResolvedRegularExpression(regex);
            });
            targets(told.addArray());
        }
        return answer;
    }

    void put(ConsumerGroupMember member, JsonNode target) {
        group.updateMember(member);
        group.updateMember(member);
        group.updateTargetAssignment(member.memberId(), Assignment.fromRecord(targetOf(target)));
    }

    static ConsumerGroupTargetAssignmentMemberValue targetOf(JsonNode target) {
        var record = new ConsumerGroupTargetAssignmentMemberValue();
        for (JsonNode each : target) {
            var partitions = new ArrayList<Integer>();
            each.get(1).forEach(partition -> partitions.add(partition.asInt()));
            record.topicPartitions().add(new ConsumerGroupTargetAssignmentMemberValue.TopicPartition()
                .setTopicId(uuid(each.get(0).asText())).setPartitions(partitions));
        }
        return record;
    }

    void leave(String memberId) {
        group.removeTargetAssignment(memberId);
        group.removeMember(memberId);
    }

    void heartbeat(JsonNode step, boolean computes) throws Exception {
        ConsumerGroupMember member = member(step, false);
        String known = member.instanceId() == null ? null : group.staticMemberId(member.instanceId());
        String before = known != null ? known : member.memberId();
        boolean replaces = known != null && !known.equals(member.memberId());
        ConsumerGroupMember old = group.hasMember(before) ? group.members().get(before) : null;
        var records = computes ? computed(member, old, replaces ? before : null) : List.<CoordinatorRecord>of();
        if (replaces) {
            Assignment target = group.targetAssignment(before);
            leave(before);
            group.updateTargetAssignment(member.memberId(), Assignment.fromRecord(record(target)));
        }
        ConsumerGroupMember logged = member(step, true);
        group.updateMember(logged);
        for (CoordinatorRecord record : records)
            if (record.key() instanceof ConsumerGroupTargetAssignmentMemberKey key)
                group.updateTargetAssignment(key.memberId(), Assignment.fromRecord((ConsumerGroupTargetAssignmentMemberValue) record.value().message()));
        group.updateMember(logged);
    }

    List<CoordinatorRecord> computed(ConsumerGroupMember member, ConsumerGroupMember old, String replaced) throws Exception {
        var type = ConsumerGroup.subscriptionType(group.computeSubscribedRegularExpressions(old, member),
            group.computeSubscribedTopicNames(old, member), group.numMembers() + (old == null ? 1 : 0));
        var builder = new TargetAssignmentBuilder.ConsumerTargetAssignmentBuilder("group", 1, assignor).withTime(Time.SYSTEM)
            .withMembers(group.members()).withStaticMembers(group.staticMembers()).withSubscriptionType(type)
            .withTargetAssignment(group.targetAssignment()).withInvertedTargetAssignment(group.invertedTargetAssignment())
            .withMetadataImage(topics).withResolvedRegularExpressions(group.resolvedRegularExpressions())
            .addOrUpdateMember(member.memberId(), member);
        if (replaced != null) builder.removeMember(replaced);
        return builder.build().records();
    }

    static ConsumerGroupTargetAssignmentMemberValue record(Assignment target) {
        var record = new ConsumerGroupTargetAssignmentMemberValue();
        target.partitions().forEach((topic, partitions) -> record.topicPartitions().add(
            new ConsumerGroupTargetAssignmentMemberValue.TopicPartition().setTopicId(topic).setPartitions(new ArrayList<>(partitions))));
        return record;
    }

    /** A regex is resolved as soon as somebody subscribes to it, and as long as somebody does. */
    ConsumerGroupMember member(JsonNode step, boolean logged) {
        String regex = textOrNull(step.get("regex"));
        if (regex != null && group.resolvedRegularExpression(regex).isEmpty())
            group.updateResolvedRegularExpression(regex, new ResolvedRegularExpression(new HashSet<>(texts(regexes.get(regex))), 1, 1));
        List<String> names = texts(step.get("names"));
        if (logged) {
            names = new ArrayList<>(new HashSet<>(names));
            Collections.sort(names);
        }
        return new ConsumerGroupMember.Builder(step.get("member").asText()).setInstanceId(textOrNull(step.get("instance")))
            .setSubscribedTopicNames(names).setSubscribedTopicRegex(regex).build();
    }

    void targets(ArrayNode told) {
        for (String memberId : group.members().keySet())
            told(told.addArray().add(memberId).addArray(), group.targetAssignment(memberId));
    }

    static void told(ArrayNode target, Assignment assignment) {
        assignment.partitions().forEach((topic, partitions) -> {
            ByteBuffer id = ByteBuffer.allocate(16).putLong(topic.getMostSignificantBits()).putLong(topic.getLeastSignificantBits());
            ArrayNode listed = target.addArray().add(HexFormat.of().formatHex(id.array())).addArray();
            partitions.forEach(listed::add);
        });
    }

    static Uuid uuid(String hex) {
        ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(hex));
        return new Uuid(bytes.getLong(), bytes.getLong());
    }

    static String textOrNull(JsonNode node) {
        return node.isNull() ? null : node.asText();
    }

    static List<String> texts(JsonNode nodes) {
        var texts = new ArrayList<String>();
        nodes.forEach(each -> texts.add(each.asText()));
        return texts;
    }

    record Topic(String name, Uuid id, int partitionCount) implements CoordinatorMetadataImage.TopicMetadata {
        public List<String> partitionRacks(int partition) {
            return List.of();
        }
    }

    static class Topics implements CoordinatorMetadataImage {
        final Map<String, TopicMetadata> byName = new HashMap<>();
        final Map<Uuid, TopicMetadata> byId = new HashMap<>();

        Topics(JsonNode listed) {
            for (JsonNode each : listed) {
                var topic = new Topic(each.get(0).asText(), uuid(each.get(1).asText()), each.get(2).asInt());
                byName.put(topic.name(), topic);
                byId.put(topic.id(), topic);
            }
        }

        public Set<Uuid> topicIds() {
            return byId.keySet();
        }

        public Set<String> topicNames() {
            return byName.keySet();
        }

        public Optional<TopicMetadata> topicMetadata(String name) {
            return Optional.ofNullable(byName.get(name));
        }

        public Optional<TopicMetadata> topicMetadata(Uuid id) {
            return Optional.ofNullable(byId.get(id));
        }

        public CoordinatorMetadataDelta emptyDelta() {
            throw new UnsupportedOperationException();
        }

        public long version() {
            return 1;
        }

        public boolean isEmpty() {
            return byName.isEmpty();
        }
    }
}
