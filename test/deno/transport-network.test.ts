/** Transports over sockets on Deno, with its own QUIC stack. */

import { dialScenarios } from "../transport/dial-scenarios.ts";
import { networkScenarios } from "../transport/network-scenarios.ts";
import { qmuxLibraryScenarios } from "../transport/qmux-library-scenarios.ts";

// What the API of Deno's stack does not let one do or see.
networkScenarios(["grants", "idle-stop", "prompt-reset", "discarded-room"]);
dialScenarios();
qmuxLibraryScenarios();
