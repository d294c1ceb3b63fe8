/**
 * Which protocol a client speaks on a port without TLS.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { CONNECTION_PREFACE } from "./frame.ts";

/**
 * Looks at the first octets of a connection: HTTP/2 where they are its preface (RFC 9113 §3.3),
 * HTTP/1.1 as soon as one is not. They are still to be read afterwards.
 *
 * @param time milliseconds until they have to be there
 * @returns `undefined` where the connection ended, or the time was up
 */
export function protocolOf(socket: Socket, time: number): Promise<"h2" | "http/1.1" | undefined> {
  return new Promise((resolve) => {
    let seen: Buffer = Buffer.alloc(0);
    const finish = (protocol: "h2" | "http/1.1" | undefined) => {
      clearTimeout(timer);
      socket.off("data", look).off("close", ended).off("error", ended);
      socket.pause();
      if (protocol !== undefined && seen.length > 0) socket.unshift(seen);
      resolve(protocol);
    };
    const ended = () => finish(undefined);
    const look = (chunk: Buffer) => {
      seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
      const length = Math.min(seen.length, CONNECTION_PREFACE.length);
      for (let at = 0; at < length; at++) {
        if (seen[at] !== CONNECTION_PREFACE[at]) return finish("http/1.1");
      }
      if (length === CONNECTION_PREFACE.length) finish("h2");
    };
    const timer = setTimeout(ended, time);
    socket.on("data", look).once("close", ended).once("error", ended);
  });
}
