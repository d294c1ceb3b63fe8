/**
 * Configurations of quiche for servers and clients.
 *
 * @module
 */

import { concatBytes, utf8 } from "../../../bytes.ts";
import type { TransportSettings } from "../../options.ts";
import type { ConnectSettings, ServerEngineSettings } from "../messages.ts";
import type { Native, NativeConfig } from "./native.ts";
import { MAX_PACKET } from "./packet-writer.ts";

/** Longest UDP payload that we take: what an Ethernet path can bring. */
const MAX_RECEIVED_PACKET = 1472;
/** Bytes that a peer may send ahead at first, per stream and in all; grown while they are read. */
const FIRST_STREAM_WINDOW = 256 * 1024;
const FIRST_CONNECTION_WINDOW = 1024 * 1024;
/** How far those may grow. */
const STREAM_WINDOW = 4 * 1024 * 1024;
const CONNECTION_WINDOW = 16 * 1024 * 1024;
const DATAGRAM_QUEUE = 256;

/** @throws whatever the addon throws where it refuses the certificate */
export function serverConfiguration(native: Native, settings: ServerEngineSettings): NativeConfig {
  const { certificatePem, keyPem } = settings.certificate;
  const keys = [utf8(keyPem)];
  const chains = [utf8(certificatePem)];
  const config = native.Config.withBoringSslCtx(false, false, null, keys, chains, null);
  return configure(config, settings.alpn, settings.transport);
}

/** @throws whatever the addon throws where it refuses the authorities */
export function clientConfiguration(native: Native, settings: ConnectSettings): NativeConfig {
  const { ca } = settings;
  const authorities = ca === undefined ? null : utf8(ca);
  const config = native.Config.withBoringSslCtx(
    ca !== undefined,
    false,
    authorities,
    null,
    null,
    null,
  );
  return configure(config, settings.alpn, settings.transport);
}

function configure(
  config: NativeConfig,
  alpn: readonly string[],
  transport: TransportSettings,
): NativeConfig {
  config.setApplicationProtosWireFormat(alpnList(alpn));
  config.setMaxIdleTimeout(transport.idleTimeout);
  config.setInitialMaxStreamsBidi(transport.maxBidiStreams);
  config.setInitialMaxStreamsUni(transport.maxUniStreams);
  config.setMaxSendUdpPayloadSize(MAX_PACKET);
  config.setMaxRecvUdpPayloadSize(MAX_RECEIVED_PACKET);
  config.setInitialMaxData(FIRST_CONNECTION_WINDOW);
  config.setInitialMaxStreamDataBidiLocal(FIRST_STREAM_WINDOW);
  config.setInitialMaxStreamDataBidiRemote(FIRST_STREAM_WINDOW);
  config.setInitialMaxStreamDataUni(FIRST_STREAM_WINDOW);
  config.setMaxStreamWindow(STREAM_WINDOW);
  config.setMaxConnectionWindow(CONNECTION_WINDOW);
  config.setDisableActiveMigration(true);
  config.enableDgram(true, DATAGRAM_QUEUE, DATAGRAM_QUEUE);
  // Send times are not kept to, and bursts are bounded by the congestion window.
  config.enablePacing(false);
  return config;
}

/** Protocol names as TLS carries them: each after its length in one byte (RFC 7301 §3.1). */
function alpnList(names: readonly string[]): Uint8Array {
  return concatBytes(
    ...names.flatMap((name) => {
      const bytes = utf8(name);
      return [Uint8Array.of(bytes.length), bytes];
    }),
  );
}
