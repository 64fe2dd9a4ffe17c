package org.apache.kafka.common.utils;

/**
 * The class that connect-file 4.3.0 asks for its version. Kafka 4.4 has it in another package, and the registry has no connect-file 4.4.0.
 */
public final class AppInfoParser {
    private AppInfoParser() {
    }

    public static String getVersion() {
        return "4.3.0";
    }
}
