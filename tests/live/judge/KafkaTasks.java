// The assignor `sticky` of Kafka's streams groups (4.3 and 4.4) as a judge: a group's members and tasks in, their targets out. JSON lines:
//   {"tasks":{subtopology:number...},"stateful":[subtopology...],"standbys":1,
//    "members":[[member,process,{subtopology:[number...]} active,{...} standby,[[subtopology,number,sum of offsets]...]]...]}
//       -> {"targets":{member:[{subtopology:[number...]} active,{...} standby]...}}
// Members are put into a map in the given order, as Kafka's TargetAssignmentBuilder does it. The classes of the two releases have other names and
// constructors, so that they are called by reflection. Start: java -cp "$(oracle/kafka.py fetch --version 4.4.0)" KafkaTasks.java
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.*;
import java.io.*;
import java.lang.reflect.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

public class KafkaTasks {
    static final ObjectMapper JSON = new ObjectMapper();
    static final String STREAMS = "org.apache.kafka.coordinator.group.streams.assignor.";
    static final boolean BEFORE_4_4 = found(STREAMS + "AssignmentMemberSpec");

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            ObjectNode answer;
            try {
                answer = targets(JSON.readTree(line));
            } catch (Exception thrown) {
                answer = JSON.createObjectNode().put("error", String.valueOf(thrown.getCause() == null ? thrown : thrown.getCause()));
            }
            out.println(JSON.writeValueAsString(answer));
        }
        out.flush();
    }

    static ObjectNode targets(JsonNode asked) throws Exception {
        var specs = new HashMap<String, Object>();
        for (JsonNode each : asked.get("members"))
            specs.put(each.get(0).asText(), member(each));
        int standbys = asked.get("standbys").asInt();
        Object configs = BEFORE_4_4 ? Map.of("num.standby.replicas", String.valueOf(standbys)) : made("AssignmentConfigsImpl", standbys, List.of());
        Object assignor = Class.forName(STREAMS + "StickyTaskAssignor").getConstructor().newInstance();
        Method assign = Arrays.stream(assignor.getClass().getMethods()).filter(each -> each.getName().equals("assign")).findFirst().get();
        Class<?> describer = assign.getParameterTypes()[1];
        Object topology = Proxy.newProxyInstance(describer.getClassLoader(), new Class<?>[] {describer}, topology(asked));
        Object computed = assign.invoke(assignor, made("GroupSpecImpl", specs, configs), topology);
        ObjectNode answer = JSON.createObjectNode();
        ObjectNode told = answer.putObject("targets");
        for (var each : ((Map<?, ?>) called(computed, "members")).entrySet()) {
            ArrayNode target = told.putArray((String) each.getKey());
            target.add(told(called(each.getValue(), "activeTasks"))).add(told(called(each.getValue(), "standbyTasks")));
        }
        return answer;
    }

    static InvocationHandler topology(JsonNode asked) {
        var stateful = new HashSet<String>();
        asked.get("stateful").forEach(each -> stateful.add(each.asText()));
        var names = new ArrayList<String>();
        asked.get("tasks").fieldNames().forEachRemaining(names::add);
        return (proxy, method, arguments) -> switch (method.getName()) {
            case "subtopologies" -> names;
            case "isStateful" -> stateful.contains((String) arguments[0]);
            case "maxNumInputPartitions" -> asked.get("tasks").get((String) arguments[0]).asInt();
            default -> throw new UnsupportedOperationException(method.getName());
        };
    }

    static Object member(JsonNode each) throws Exception {
        Map<String, Set<Integer>> active = tasks(each.get(2)), standby = tasks(each.get(3));
        String process = each.get(1).asText();
        if (BEFORE_4_4)
            return made("AssignmentMemberSpec", Optional.empty(), Optional.empty(), active, standby, Map.of(), process, Map.of(), Map.of(), Map.of());
        var offsets = new HashMap<String, Map<Integer, Long>>();
        for (JsonNode offset : each.get(4))
            offsets.computeIfAbsent(offset.get(0).asText(), absent -> new HashMap<>()).put(offset.get(1).asInt(), offset.get(2).asLong());
        return made("MemberMetadataAndStateImpl", Optional.empty(), Optional.empty(), process, Map.of(), active, standby, Map.of(), offsets, Map.of());
    }

    static Map<String, Set<Integer>> tasks(JsonNode listed) {
        var tasks = new HashMap<String, Set<Integer>>();
        listed.properties().forEach(each -> {
            var numbers = new HashSet<Integer>();
            each.getValue().forEach(number -> numbers.add(number.asInt()));
            tasks.put(each.getKey(), numbers);
        });
        return tasks;
    }

    static ObjectNode told(Object tasks) {
        ObjectNode told = JSON.createObjectNode();
        for (var each : ((Map<?, ?>) tasks).entrySet()) {
            ArrayNode numbers = told.putArray((String) each.getKey());
            ((Set<?>) each.getValue()).stream().map(number -> (Integer) number).sorted().forEach(numbers::add);
        }
        return told;
    }

    static Object made(String name, Object... arguments) throws Exception {
        return Class.forName(STREAMS + name).getConstructors()[0].newInstance(arguments);
    }

    static Object called(Object object, String method) throws Exception {
        return object.getClass().getMethod(method).invoke(object);
    }

    static boolean found(String name) {
        try {
            return Class.forName(name) != null;
        } catch (ClassNotFoundException absent) {
            return false;
        }
    }
}
