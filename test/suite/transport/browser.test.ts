import { browserTransport } from "../../../src/transport/browser.ts";
import { memoryTransportPair } from "../../support/transport-pair.ts";
import { transportScenarios } from "../../support/transport-scenarios.ts";
import { webTransportOver } from "../../support/web-transport.ts";

const url = "https://lb.example/moqt";

transportScenarios("the WebTransport of a browser, in memory", async () => {
  // A browser does not tell when it would have to wait for a stream: here it never has to.
  const [near, server] = memoryTransportPair({ kind: "webtransport-h3", uniStreams: 2000 });
  return { client: browserTransport(webTransportOver(near), url), server };
});
