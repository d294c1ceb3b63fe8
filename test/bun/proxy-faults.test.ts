/** What goes wrong around proxy mode, on Bun: quiche. */

import { proxyFaults } from "../proxy/faults.ts";
import { QuicWire, WebTransportWire } from "../support/proxy/wires.ts";

proxyFaults("quiche on Bun", {
  wire: await QuicWire.open("quiche"),
  narrow: new WebTransportWire("quiche"),
});
