// Kafka's error table, a line per code: code, name, retriable.
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

public class KafkaErrors {
    public static void main(String[] args) {
        for (Errors each : Errors.values()) System.out.println(each.code() + " " + each.name() + " " + (each.exception() instanceof RetriableException));
    }
}
