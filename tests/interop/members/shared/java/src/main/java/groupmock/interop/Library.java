package groupmock.interop;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** Kafka's jars on the class path. The class of theirs that knows their version is not public, and 4.4 moved it; the file is in every release. */
final class Library {
    private static final String FILE = "/kafka/kafka-version.properties";

    private Library() {
    }

    static String version() {
        Properties found = new Properties();
        try (InputStream file = Library.class.getResourceAsStream(FILE)) {
            found.load(file);
        } catch (IOException broken) {
            throw new UncheckedIOException(broken);
        }
        return found.getProperty("version");
    }
}
