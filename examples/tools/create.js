import { check } from "k6";
import exec from "k6/execution";
import http from "k6/http";

export const options = { vus: 10, iterations: 1000, thresholds: { checks: ["rate==1"] } };

export default function () {
  const id = exec.scenario.iterationInTest + 1;
  const response = http.post(`${__ENV.BASE_URL}/plants`, JSON.stringify({ id, name: `Plant ${id}` }), {
    headers: { Authorization: "Bearer sandbox", "Content-Type": "application/json" },
  });
  check(response, {
    "is 200": ({ status }) => status === 200,
    "is the plant": (created) => created.json("name") === `Plant ${id}`,
  });
}
