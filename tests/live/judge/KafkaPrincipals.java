// Names that ssl.principal.mapping.rules give: a line "rules TAB name" in, a line with the principal out, or "-" without one, "!" for bad rules.
import java.io.*;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

public class KafkaPrincipals {
    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t", -1);
            SslPrincipalMapper mapper;
            try {
                mapper = SslPrincipalMapper.fromRules(parts[0]);
            } catch (RuntimeException bad) {
                System.out.println("!");
                continue;
            }
            try {
                System.out.println("=" + mapper.getName(parts[1]));
            } catch (IOException | RuntimeException none) {
                System.out.println("-");
            }
        }
    }
}
