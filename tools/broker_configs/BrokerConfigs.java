import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;

import org.apache.kafka.common.config.ConfigDef;

/**
 * Prints how a release of Apache Kafka defines its configs of brokers, or of what its argument names, in the order in which it checks
 * them: name, type, default, whether and for whom it may be changed at run time, what its values must be. Fields are separated by tabs.
 * Run by tools/broker_configs and tools/releases.
 */
public class BrokerConfigs {
    private static Object of(String className, String name) throws ReflectiveOperationException {
        Class<?> type = Class.forName(className);
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(null);
        } catch (NoSuchFieldException isNoField) {
            Class<?> companion = type;
            Object holder = null;
            try {
                companion = Class.forName(className + "$");
                holder = companion.getField("MODULE$").get(null);
            } catch (ClassNotFoundException isNoScala) {
                holder = null;
            }
            Method method = companion.getDeclaredMethod(name);
            method.setAccessible(true);
            return method.invoke(holder);
        }
    }

    private static ConfigDef definitions(String what) throws ReflectiveOperationException {
        switch (what) {
            case "topic": return (ConfigDef) of("org.apache.kafka.storage.internals.log.LogConfig", "CONFIG");
            case "group": return (ConfigDef) of("org.apache.kafka.coordinator.group.GroupConfig", "CONFIG_DEF");
            case "consumer": return (ConfigDef) of("org.apache.kafka.clients.consumer.ConsumerConfig", "CONFIG");
            case "producer": return (ConfigDef) of("org.apache.kafka.clients.producer.ProducerConfig", "CONFIG");
            case "admin": return (ConfigDef) of("org.apache.kafka.clients.admin.AdminClientConfig", "CONFIG");
            default: return ofBrokers();
        }
    }

    private static ConfigDef ofBrokers() throws ReflectiveOperationException {
        try {
            return (ConfigDef) of("org.apache.kafka.server.config.AbstractKafkaConfig", "CONFIG_DEF");
        } catch (ClassNotFoundException | NoSuchMethodException before4) {
            return (ConfigDef) of("kafka.server.KafkaConfig", "configDef");
        }
    }

    private static Map<?, ?> modes() throws ReflectiveOperationException {
        try {
            return (Map<?, ?>) of("org.apache.kafka.server.config.DynamicBrokerConfig", "dynamicConfigUpdateModes");
        } catch (ClassNotFoundException inScala) {
            return (Map<?, ?>) of("kafka.server.DynamicBrokerConfig", "dynamicConfigUpdateModes");
        }
    }

    public static void main(String[] words) throws ReflectiveOperationException {
        String what = words.length > 0 ? words[0] : "broker";
        Map<?, ?> modes = what.equals("broker") ? modes() : Map.of();
        for (ConfigDef.ConfigKey key : definitions(what).configKeys().values()) {
            String standard = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null;
            Object mode = modes.get(key.name);
            System.out.println(String.join("\t", key.name, key.type.name(), standard == null ? "null" : '"' + standard + '"',
                key.internalConfig ? "internal" : mode == null ? "read-only" : mode.toString(), key.validator == null ? "" : key.validator.toString()));
        }
    }
}
