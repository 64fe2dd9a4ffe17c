package example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

@SpringBootTest
class KitchenTest {
    @RegisterExtension // before Spring's own extension, which starts the application: a static field
    static final Groupmock groupmock = new Groupmock("--topic", "orders:4");

    @DynamicPropertySource
    static void kafka(DynamicPropertyRegistry registry) {
        registry.add("spring.kafka.bootstrap-servers", groupmock::bootstrap);
        registry.add("spring.kafka.consumer.auto-offset-reset", () -> "earliest");
    }

    @Autowired
    Kitchen kitchen;

    @Test
    void theListenerCooksAndCommits() throws Exception {
        groupmock.get("/v1/groups/kitchen/wait?state=Stable&assignment=orders");
        groupmock.post("/v1/topics/orders/records", Map.of("value", "coffee"));
        groupmock.get("/v1/groups/kitchen/wait?offsets=orders/0=0&lag=0");
        assertEquals(List.of("coffee"), kitchen.cooked);
    }
}
