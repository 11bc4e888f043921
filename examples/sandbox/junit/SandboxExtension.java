import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

public class SandboxExtension implements BeforeEachCallback {
  private static final HttpClient client = HttpClient.newHttpClient();
  private static final Map<String, String> rows = new HashMap<>();

  @Override
  public void beforeEach(ExtensionContext context) throws Exception {
    start();
    send("POST", row("Control") + "/reset", "");
  }

  /** The sandbox ends with this process, which holds its standard input open. */
  private static synchronized void start() throws Exception {
    if (!rows.isEmpty()) return;
    Process process =
        new ProcessBuilder("plantstore", "sandbox", "--port", "0", "--admin-port", "0",
                "--exit-with-parent", "--log-level", "warn")
            .redirectError(Redirect.INHERIT)
            .start();
    // The first line is the base URL; the others are labels with their values.
    for (String line; (line = process.inputReader().readLine()) != null; ) {
      String[] row = line.split(" +", 2);
      if (row.length == 2) rows.put(row[0], row[1]);
      if (row[0].equals("Store")) return;
    }
    throw new IllegalStateException("the sandbox did not start");
  }

  /** A value that the sandbox prints at its start, such as that of Interface, Token or Control. */
  public static String row(String label) {
    return rows.get(label);
  }

  public static HttpResponse<String> send(String method, String url, String body)
      throws IOException, InterruptedException {
    return client.send(request(method, url, body), BodyHandlers.ofString());
  }

  public static void sendAsync(String method, String url, String body) {
    client.sendAsync(request(method, url, body), BodyHandlers.ofString());
  }

  private static HttpRequest request(String method, String url, String body) {
    return HttpRequest.newBuilder(URI.create(url))
            .method(method, BodyPublishers.ofString(body))
            .header("Authorization", "Bearer " + row("Token"))
            .header("Content-Type", "application/json")
            .build();
  }
}
