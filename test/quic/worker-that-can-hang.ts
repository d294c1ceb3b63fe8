/**
 * Puts the Worker that can be told to hang in the place of the quiche back-end's own, which it
 * includes. There is one Worker for the whole process, and whoever needs it first starts it: so this
 * is to be loaded before any test, as bunfig.toml does for Bun.
 */

import { engineModule } from "../../src/quic/quiche/host.ts";

engineModule.url = new URL("./hanging-worker.ts", import.meta.url);
