package groupmock.interop;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The flat JSON object of the environment: strings, whole numbers, null. The harness puts no escapes into its strings. */
final class Wish {
    private final String json;

    Wish(String json) {
        this.json = json;
    }

    private String found(String name, String form) {
        Matcher matcher = Pattern.compile("\"" + name + "\": " + form).matcher(json);
        return matcher.find() ? matcher.group(1) : null;
    }

    String text(String name) {
        return found(name, "\"([^\"]*)\"");
    }

    int number(String name) {
        return Integer.parseInt(found(name, "(-?[0-9]+)"));
    }
}
