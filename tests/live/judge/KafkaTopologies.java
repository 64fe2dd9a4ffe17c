// Kafka's own code that configures the topology of a streams group (4.3 and 4.4) as a judge. JSON lines:
//   {"heartbeat":base64 of a StreamsGroupHeartbeatRequest v0 with a topology,"topics":{name:partitions...}}
//       -> {"status":[code,text] or null,"tasks":{subtopology:number...},"internal":{name:partitions...},
//           "missing":[[name,partitions,replication factor,{key:value...}]...] in their order}
//       or {"refused":text of a StreamsInvalidTopologyException} or {"thrown":class of anything else}
// Start: java -cp "$(oracle/kafka.py fetch --version 4.4.0)" KafkaTopologies.java
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.*;
import java.io.*;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.common.errors.StreamsInvalidTopologyException;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.streams.StreamsTopology;
import org.apache.kafka.coordinator.group.streams.topics.*;
import org.slf4j.helpers.NOPLogger;

public class KafkaTopologies {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                configured(JSON.readTree(line), answer);
            } catch (StreamsInvalidTopologyException refused) {
                answer.put("refused", refused.getMessage());
            } catch (Exception thrown) {
                answer.put("thrown", thrown.getClass().getSimpleName());
            }
            out.println(JSON.writeValueAsString(answer));
        }
        out.flush();
    }

    static void configured(JsonNode asked, ObjectNode answer) throws Exception {
        var bytes = ByteBuffer.wrap(asked.get("heartbeat").binaryValue());
        var topology = StreamsTopology.fromHeartbeatRequest(new StreamsGroupHeartbeatRequestData(new ByteBufferAccessor(bytes), (short) 0).topology());
        var configured = InternalTopicManager.configureTopics(NOPLogger.NOP_LOGGER, "group", "member", 0L, topology, image(asked.get("topics")), Time.SYSTEM);
        configured.topicConfigurationException().ifPresentOrElse(
            status -> answer.putArray("status").add(status.status().code()).add(status.getMessage()), () -> answer.putNull("status"));
        ObjectNode tasks = answer.putObject("tasks"), internal = answer.putObject("internal");
        if (configured.isReady())
            configured.subtopologies().get().forEach((id, subtopology) -> {
                tasks.put(id, subtopology.numberOfTasks());
                subtopology.repartitionSourceTopics().forEach((name, topic) -> internal.put(name, topic.numberOfPartitions()));
                subtopology.stateChangelogTopics().forEach((name, topic) -> internal.put(name, topic.numberOfPartitions()));
            });
        ArrayNode missing = answer.putArray("missing");
        configured.internalTopicsToBeCreated().forEach((name, topic) -> {
            ArrayNode told = missing.addArray().add(name).add(topic.numPartitions()).add(topic.replicationFactor());
            ObjectNode configs = told.addObject();
            topic.configs().forEach(config -> configs.put(config.name(), config.value()));
        });
    }

    static CoordinatorMetadataImage image(JsonNode topics) {
        return (CoordinatorMetadataImage) proxy(CoordinatorMetadataImage.class, (name, arguments) -> {
            JsonNode partitions = topics.get((String) arguments[0]);
            return partitions == null ? Optional.empty() : Optional.of(proxy(CoordinatorMetadataImage.TopicMetadata.class, (count, none) -> partitions.asInt()));
        });
    }

    interface Answer {
        Object to(String method, Object[] arguments);
    }

    static Object proxy(Class<?> type, Answer answer) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> answer.to(method.getName(), arguments));
    }
}
