import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/**
 * What RE2/J, which Kafka reads subscriptions by, makes of expressions. One line in: an expression and texts, each in base64, with blanks
 * between; one line out: 0 or 1 for each text, or "refused" and why. An expression alone: every character (of the planes that have any) that
 * it matches, as ranges of numbers.
 */
public class KafkaRegexes {
    private static final int LAST = 0x2FFFF;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            try {
                Pattern pattern = Pattern.compile(text(words[0]));
                out.append(words.length > 1 ? verdicts(pattern, words) : characters(pattern));
            } catch (PatternSyntaxException refused) {
                out.append("refused ").append(refused.getDescription());
            }
            out.append('\n');
        }
        System.out.print(out);
    }

    private static String text(String word) {
        return new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8);
    }

    private static String verdicts(Pattern pattern, String[] words) {
        StringBuilder found = new StringBuilder();
        for (int index = 1; index < words.length; index++) {
            found.append(pattern.matcher(text(words[index])).matches() ? '1' : '0');
        }
        return found.toString();
    }

    private static String characters(Pattern pattern) {
        StringBuilder found = new StringBuilder();
        int first = -1;
        for (int code = 0; code <= LAST + 1; code++) {
            boolean surrogate = code >= 0xD800 && code <= 0xDFFF;
            boolean matches = code <= LAST && !surrogate && pattern.matcher(new String(Character.toChars(code))).matches();
            if (matches && first < 0) {
                first = code;
            } else if (!matches && first >= 0) {
                found.append(first).append('-').append(code - 1).append(' ');
                first = -1;
            }
        }
        return found.toString().trim();
    }
}
