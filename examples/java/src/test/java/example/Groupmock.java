package example;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A mock cluster for the tests of a class: a process that starts before the first and ends after the last. Each test finds it empty. */
public final class Groupmock
        implements BeforeAllCallback, BeforeEachCallback, AfterTestExecutionCallback, AfterAllCallback {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final HttpClient http = HttpClient.newHttpClient();
    private final List<String> command;
    private Process process;
    private JsonNode ready;

    /** Takes the flags of {@code groupmock serve --help}: {@code "--topic", "orders:4"}. */
    public Groupmock(String... flags) {
        // $GROUPMOCK may name the command, here: "/opt/venv/bin/groupmock", "python3 -m groupmock".
        var program = Optional.ofNullable(System.getenv("GROUPMOCK")).orElse("groupmock");
        command = new ArrayList<>(List.of(program.split(" ")));
        command.addAll(List.of("serve", "--port", "0", "--control", "0", "--log", "off"));
        command.addAll(Arrays.asList(flags));
    }

    @Override
    public void beforeAll(ExtensionContext context) throws IOException {
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        var line = process.inputReader().readLine(); // one line of JSON, when it answers
        if (line == null) {
            throw new IllegalStateException("groupmock did not start; it has said above why");
        }
        ready = JSON.readTree(line);
    }

    @Override
    public void beforeEach(ExtensionContext context) throws IOException, InterruptedException {
        post("/v1/reset");
    }

    @Override
    public void afterTestExecution(ExtensionContext context) throws IOException, InterruptedException {
        if (context.getExecutionException().isPresent()) {
            for (var group : get("/v1/groups")) {
                get("/v1/groups/" + group.get("group_id").asText()).get("story").forEach(line -> System.err.println(line.asText()));
            }
        }
    }

    @Override
    public void afterAll(ExtensionContext context) throws InterruptedException {
        process.destroy();
        process.waitFor();
    }

    /** The address for clients: {@code bootstrap.servers}. */
    public String bootstrap() {
        return ready.get("bootstrap").asText();
    }

    /** Reads from the control API: {@code get("/v1/groups/kitchen/wait?state=Stable")}. Throws its error if it refuses. */
    public JsonNode get(String path) throws IOException, InterruptedException {
        return send(HttpRequest.newBuilder(uri(path)).GET());
    }

    /** Sends JSON or JSON Lines to the control API: {@code post("/v1/groups/kitchen/expire", Map.of("member", "anna"))}. */
    public JsonNode post(String path, Object... lines) throws IOException, InterruptedException {
        var body = new StringBuilder();
        for (var line : lines) {
            body.append(JSON.writeValueAsString(line)).append('\n');
        }
        return send(HttpRequest.newBuilder(uri(path)).POST(HttpRequest.BodyPublishers.ofString(body.toString())));
    }

    private URI uri(String path) {
        return URI.create(ready.get("control").asText() + path);
    }

    private JsonNode send(HttpRequest.Builder request) throws IOException, InterruptedException {
        var answer = http.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
        var body = JSON.readTree(answer.body());
        if (answer.statusCode() >= 300) {
            throw new AssertionError(answer.statusCode() + " " + body.path("error").asText());
        }
        return body;
    }
}
