package groupmock.interop;

/** Events on stdout, one JSON line each. */
final class Say {
    private Say() {
    }

    static synchronized void line(String event, String facts) {
        System.out.println("{\"event\": " + quoted(event) + (facts == null ? "" : ", " + facts) + "}");
        System.out.flush();
    }

    static String quoted(String text) {
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
}
