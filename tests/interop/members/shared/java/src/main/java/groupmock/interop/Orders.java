package groupmock.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Lines of stdin, read by a thread of their own; the end of stdin ends the process, so that no member outlives its harness. */
final class Orders {
    private final ConcurrentLinkedQueue<String> lines = new ConcurrentLinkedQueue<>();

    Orders() {
        Thread reader = new Thread(this::read, "orders");
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.add(line.trim());
            }
        } catch (IOException gone) {
            // as good as the end
        }
        Runtime.getRuntime().halt(0);
    }

    String next() {
        return lines.poll();
    }
}
