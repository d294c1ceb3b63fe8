/** Transports over sockets on Bun, with quiche for QUIC. */

import { dialScenarios } from "../transport/dial-scenarios.ts";
import { networkScenarios } from "../transport/network-scenarios.ts";
import { qmuxLibraryScenarios } from "../transport/qmux-library-scenarios.ts";

// quiche 0.18 does not give back the session's credit for bytes that nobody reads.
networkScenarios(["discarded-room"]);
dialScenarios();
qmuxLibraryScenarios();
