import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import java.util.regex.Pattern;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

public class SandboxExtension implements BeforeEachCallback {
  private static final HttpClient client = HttpClient.newHttpClient();
  private static String addresses;

  @Override
  public void beforeEach(ExtensionContext context) throws Exception {
    start();
    send("POST", address("controlUrl") + "/reset", "");
  }

  /** The sandbox ends with this process, which holds its standard input open. */
  private static synchronized void start() throws Exception {
    if (addresses != null) return;
    // The sandbox removes it when it ends.
    Path readyFile = Path.of(System.getProperty("java.io.tmpdir"), "sandbox-" + UUID.randomUUID());
    Process process =
        new ProcessBuilder("plantstore", "sandbox", "--port", "0", "--admin-port", "0",
                "--ready-file", readyFile.toString(), "--exit-with-parent", "--log-level", "warn")
            .redirectOutput(Redirect.DISCARD)
            .redirectError(Redirect.INHERIT)
            .start();
    while (Files.notExists(readyFile)) {
      if (!process.isAlive()) throw new IllegalStateException("the sandbox did not start");
      Thread.sleep(10);
    }
    addresses = Files.readString(readyFile);
  }

  /** A member of the ready file: url, plantsUrl, token, adminUrl or controlUrl. */
  public static String address(String name) {
    var matcher = Pattern.compile("\"" + name + "\"\\s*:\\s*\"([^\"]*)\"").matcher(addresses);
    if (!matcher.find()) throw new IllegalArgumentException(name);
    return matcher.group(1);
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
            .header("Authorization", "Bearer " + address("token"))
            .header("Content-Type", "application/json")
            .build();
  }
}
