package groupmock.interop;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** What was seen, in order; a mismatch ends the run with the step's name. Printed as one JSON line. */
final class Facts {
    private static final long PATIENCE_MS = 15_000;

    private final Map<String, Object> seen = new LinkedHashMap<>();
    private volatile String step = "start";

    Facts(String client) {
        seen.put("driver", "java");
        seen.put("client", client);
    }

    void step(String name) {
        step = name;
    }

    String step() {
        return step;
    }

    synchronized void put(String name, Object value) {
        seen.put(name, value);
    }

    /** Notes `actual` under `name` and insists that it equals `expected`. */
    void same(String name, Object expected, Object actual) {
        put(name, actual);
        if (!expected.equals(actual)) {
            throw new Mismatch(name + ": expected " + expected + ", got " + actual);
        }
    }

    /** Polls until `done`; the deadline's message carries what was last seen. */
    void await(String what, BooleanSupplier done, Supplier<String> seenLast) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        while (!done.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new Mismatch(what + ": not within " + PATIENCE_MS + " ms; last seen: " + seenLast.get());
            }
            pause();
        }
    }

    synchronized String json(String failure) {
        StringBuilder out = new StringBuilder("{");
        seen.forEach((name, value) -> out.append(quoted(name)).append(": ").append(value(value)).append(", "));
        out.append("\"ok\": ").append(failure == null);
        if (failure != null) {
            out.append(", \"failed\": ").append(quoted(step + ": " + failure));
        }
        return out.append("}").toString();
    }

    private static String value(Object value) {
        return value instanceof Number || value instanceof Boolean ? value.toString() : quoted(String.valueOf(value));
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        text.chars().forEach(each -> {
            if (each == '"' || each == '\\') {
                out.append('\\').append((char) each);
            } else if (each < ' ') {
                out.append(String.format("\\u%04x", each));
            } else {
                out.append((char) each);
            }
        });
        return out.append('"').toString();
    }

    private static void pause() {
        try {
            Thread.sleep(10);
        } catch (InterruptedException stopped) {
            throw new IllegalStateException(stopped);
        }
    }

    static final class Mismatch extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Mismatch(String message) {
            super(message);
        }
    }
}
