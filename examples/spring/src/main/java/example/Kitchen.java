package example;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.kafka.annotation.KafkaListener;

@SpringBootApplication
public class Kitchen {
    final List<String> cooked = new CopyOnWriteArrayList<>();

    @KafkaListener(topics = "orders", groupId = "kitchen")
    void cook(String dish) {
        cooked.add(dish);
    }
}
