import { messageOf, YardmasterError } from "../errors.ts";

/** Where pages are served. */
export interface ServeAddress {
  readonly hostname: string;
  readonly port: number;
  /** PEM; with both it is https. */
  readonly certificate?: string;
  readonly key?: string;
}

/** A socket that answers. */
export interface Listener {
  readonly url: string;
  /** Ends it, and requests that are under way with it. */
  close(): Promise<void>;
}

type Fetch = (request: Request) => Response | Promise<Response>;

/** The parts of the runtimes that serve HTTP; `types` of neither may be there. */
interface Runtimes {
  readonly Deno?: {
    serve(
      options: {
        hostname: string;
        port: number;
        cert?: string;
        key?: string;
        signal: AbortSignal;
        onListen: () => void;
      },
      fetch: Fetch,
    ): { readonly addr: { readonly port: number }; readonly finished: Promise<void> };
  };
  readonly Bun?: {
    serve(options: {
      hostname: string;
      port: number;
      tls?: { cert: string; key: string };
      idleTimeout: number;
      fetch: Fetch;
    }): { readonly port: number; stop(closeActive: boolean): Promise<void> };
  };
}

/** Seconds without a byte until Bun ends a connection: more than a long poll waits. */
const IDLE = 120;

/**
 * Serves HTTP, or HTTPS where there is a certificate, on Bun or Deno.
 *
 * @throws {YardmasterError} `LISTEN_FAILED`
 */
export function serve(listen: ServeAddress, fetch: Fetch): Listener {
  const { hostname, port, certificate, key } = listen;
  const { Deno, Bun } = globalThis as Runtimes;
  const tls = certificate !== undefined && key !== undefined && { cert: certificate, key };
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  const urlAt = (bound: number) => `${tls ? "https" : "http"}://${host}:${bound}`;
  try {
    if (Deno !== undefined) {
      const end = new AbortController();
      const options = { hostname, port, signal: end.signal, onListen: () => {}, ...tls };
      const server = Deno.serve(options, fetch);
      const close = () => {
        end.abort();
        return server.finished;
      };
      return { url: urlAt(server.addr.port), close };
    }
    if (Bun !== undefined) {
      const options = { hostname, port, idleTimeout: IDLE, fetch, ...(tls && { tls }) };
      const server = Bun.serve(options);
      return { url: urlAt(server.port), close: () => server.stop(true) };
    }
  } catch (cause) {
    const reason = messageOf(cause);
    throw new YardmasterError("LISTEN_FAILED", `listen: ${hostname}:${port}: ${reason}`, { cause });
  }
  throw new YardmasterError("LISTEN_FAILED", "pages are served on Bun or Deno");
}
