import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SandboxExtension.class)
@TestMethodOrder(OrderAnnotation.class)
class PlantsTest {
  private static final String plant = "{\"id\":9007199254740993,\"name\":\"Monstera deliciosa\"}";

  @Test
  void theIdOfAPlantIsExact() throws Exception {
    var created = SandboxExtension.send("POST", SandboxExtension.row("Interface"), plant);
    assertEquals(200, created.statusCode());
    assertEquals("{\"resources\":[" + plant + "],\"next\":null}", read("/plants"));
  }

  @Test
  @Order(1)
  void aCreateStillWaitsWhenItsTestEnds() throws Exception {
    var rule = "{\"outcome\":{\"delay\":{\"seconds\":0.2}}}";
    SandboxExtension.send("POST", SandboxExtension.row("Control") + "/rules", rule);
    // The reset closes the connection.
    SandboxExtension.sendAsync("POST", SandboxExtension.row("Interface"), plant);
    while (!read("/rules").contains("\"applied\":1")) {}
  }

  @Test
  @Order(2)
  void itIsNotInTheNextTestAfterAReset() throws Exception {
    Thread.sleep(400);
    assertEquals("{\"resources\":[],\"next\":null}", read("/plants"));
    assertTrue(read("/requests").startsWith("{\"requests\":[]"));
  }

  private static String read(String path) throws Exception {
    return SandboxExtension.send("GET", SandboxExtension.row("Control") + path, "").body();
  }
}
