import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;

import org.apache.kafka.common.config.ConfigDef;

/**
 * Prints how a release of Apache Kafka defines its broker configs, in the order in which it checks them: name, type, default, whether and
 * for whom it may be changed at run time, what its values must be. Fields are separated by tabs. Run by tools/broker_configs.
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

    private static ConfigDef definitions() throws ReflectiveOperationException {
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

    public static void main(String[] none) throws ReflectiveOperationException {
        Map<?, ?> modes = modes();
        for (ConfigDef.ConfigKey key : definitions().configKeys().values()) {
            String standard = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null;
            Object mode = modes.get(key.name);
            System.out.println(String.join("\t", key.name, key.type.name(), standard == null ? "null" : '"' + standard + '"',
                key.internalConfig ? "internal" : mode == null ? "read-only" : mode.toString(), key.validator == null ? "" : key.validator.toString()));
        }
    }
}
