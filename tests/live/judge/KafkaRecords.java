// Kafka's record formats as a judge (Kafka 3.9: the last release that writes and converts magic 0 and 1). JSON lines in, JSON lines out:
//   {"magic":2,"compression":"gzip","base":5,"records":[[timestamp,key,value,[[name,value]...]]...]}   -> {"hex":"..."}
//   {"hex":"..."}                        -> {"records":[[offset,timestamp,key,value,headers]...],"valid":true}
//   {"hex":"...","down":1,"first":3}     -> {"hex":"..."}      what a broker sends to a client of that magic
// Bytes are hex, null is null. What Kafka refuses -> {"error":"..."}. Start: java -cp "$(oracle/kafka.py fetch --version 3.9.1)" KafkaRecords.java
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.*;
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.utils.*;

public class KafkaRecords {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            ObjectNode answer;
            try {
                JsonNode asked = JSON.readTree(line);
                answer = asked.has("records") ? write(asked) : asked.has("down") ? down(asked) : read(asked);
            } catch (Exception thrown) {
                answer = JSON.createObjectNode().put("error", thrown.toString());
            }
            out.println(JSON.writeValueAsString(answer));
        }
        out.flush();
    }

    static ObjectNode write(JsonNode asked) {
        var records = new ArrayList<SimpleRecord>();
        for (JsonNode each : asked.get("records")) {
            var headers = new ArrayList<Header>();
            for (JsonNode header : each.get(3)) headers.add(new RecordHeader(header.get(0).asText(), bytes(header.get(1))));
            records.add(new SimpleRecord(each.get(0).asLong(), bytes(each.get(1)), bytes(each.get(2)), headers.toArray(new Header[0])));
        }
        Compression compression = Compression.of(CompressionType.forName(asked.get("compression").asText())).build();
        MemoryRecords written = MemoryRecords.withRecords((byte) asked.get("magic").asInt(), asked.get("base").asLong(), compression,
            TimestampType.CREATE_TIME, records.toArray(new SimpleRecord[0]));
        return JSON.createObjectNode().put("hex", hex(written.buffer()));
    }

    static ObjectNode read(JsonNode asked) {
        MemoryRecords found = MemoryRecords.readableRecords(ByteBuffer.wrap(bytes(asked.get("hex"))));
        ArrayNode records = JSON.createArrayNode();
        boolean valid = true;
        for (var batch : found.batches()) {
            batch.ensureValid();
            valid &= batch.isValid();
            for (var record : batch) {
                record.ensureValid();
                ArrayNode headers = JSON.createArrayNode();
                for (Header header : record.headers()) headers.add(JSON.createArrayNode().add(header.key()).add(hex(header.value() == null ? null : ByteBuffer.wrap(header.value()))));
                records.add(JSON.createArrayNode().add(record.offset()).add(record.timestamp()).add(hex(record.key())).add(hex(record.value())).add(headers));
            }
        }
        ObjectNode answer = JSON.createObjectNode().put("valid", valid);
        answer.set("records", records);
        return answer;
    }

    static ObjectNode down(JsonNode asked) {
        MemoryRecords found = MemoryRecords.readableRecords(ByteBuffer.wrap(bytes(asked.get("hex"))));
        var converted = found.downConvert((byte) asked.get("down").asInt(), asked.get("first").asLong(), Time.SYSTEM);
        return JSON.createObjectNode().put("hex", hex(((MemoryRecords) converted.records()).buffer()));
    }

    static byte[] bytes(JsonNode node) {
        return node.isNull() ? null : HexFormat.of().parseHex(node.asText());
    }

    static String hex(ByteBuffer buffer) {
        if (buffer == null) return null;
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
