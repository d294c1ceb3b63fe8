/** What goes wrong around proxy mode, on Deno with the quiche addon. */

import { proxyFaults } from "../proxy/faults.ts";
import { QuicWire, WebTransportWire } from "../support/proxy/wires.ts";

proxyFaults("quiche on Deno", {
  wire: await QuicWire.open("quiche"),
  narrow: new WebTransportWire("quiche"),
});
