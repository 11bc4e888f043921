import { readFileSync, writeFileSync } from "node:fs";

const collection = JSON.parse(readFileSync("collection.json", "utf8"));
const { request } = collection.item[0].item[0];
request.body.raw = "{{body}}";
request.header.push({ key: "Prefer", value: "{{prefer}}" });
const check = `
  const expected = pm.iterationData.get("response");
  pm.test(pm.iterationData.get("title"), () => {
    pm.response.to.have.status(expected.error ? Math.trunc(expected.error / 100) : 200);
    pm.expect(pm.response.json()).to.include(expected);
  });`;
collection.event = [{ listen: "test", script: { type: "text/javascript", exec: check.split("\n") } }];
writeFileSync("checked.json", JSON.stringify(collection));
