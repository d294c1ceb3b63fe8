import assert from "node:assert/strict";
import { describe, test } from "#test";
import { webTransportTransport } from "../../../src/transport/webtransport.ts";
import { transportScenarios } from "../../support/transport-scenarios.ts";
import { webTransportPair } from "../../support/webtransport-pair.ts";

transportScenarios("WebTransport over HTTP/3", async () => {
  const [client, server] = await webTransportPair();
  return { client: webTransportTransport(client), server: webTransportTransport(server) };
});

transportScenarios("WebTransport over HTTP/3 on a stack that resets by FIN", async () => {
  const capabilities = { resetOut: false, stopCodeOut: false };
  const [client, server] = await webTransportPair({ capabilities });
  return { client: webTransportTransport(client), server: webTransportTransport(server) };
});

describe("a WebTransport session as a transport", () => {
  test("tells what the CONNECT request said", async () => {
    const [client, server] = await webTransportPair({
      protocols: ["moqt-20", "moqt-22"],
      path: "/live?tenant=a",
      headers: [
        { name: "origin", value: "https://player.example" },
        { name: "authorization", value: "Bearer abc.def" },
      ],
    });
    const transport = webTransportTransport(server);
    assert.equal(transport.kind, "webtransport-h3");
    assert.equal(transport.protocol, "moqt-20");
    assert.equal(transport.path, "/live?tenant=a");
    assert.equal(transport.authority, "lb.example");
    assert.equal(transport.origin, "https://player.example");
    assert.equal(transport.bearerToken, "abc.def");
    assert.equal(transport.exactCodes, true);
    client.close(0n, "");
  });
});
