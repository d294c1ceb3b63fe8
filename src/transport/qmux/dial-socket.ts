/**
 * A client's WebSocket with what browsers do not let one set: headers and trusted authorities.
 *
 * @module
 */

export interface DialSocketOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** PEM of the authorities to trust. */
  readonly ca?: string | undefined;
}

/** What Bun and Deno take in place of the list of subprotocols. */
interface ExtendedOptions {
  readonly protocols: readonly string[];
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Bun. */
  readonly tls?: { readonly ca: string };
  /** Deno. */
  readonly client?: unknown;
}

type ExtendedWebSocket = new (url: string, options: ExtendedOptions) => WebSocket;

interface Runtime {
  readonly Deno?: { createHttpClient(options: { caCerts: string[] }): unknown };
}

/** A WebSocket that is being opened. Throws a SyntaxError where `url` is none. */
export function dialWebSocket(
  url: string,
  subprotocols: readonly string[],
  { headers, ca }: DialSocketOptions,
): WebSocket {
  if (headers === undefined && ca === undefined) return new WebSocket(url, [...subprotocols]);
  const { Deno: deno } = globalThis as Runtime;
  const Extended = WebSocket as unknown as ExtendedWebSocket;
  return new Extended(url, {
    protocols: subprotocols,
    headers,
    ...(ca === undefined
      ? {}
      : deno === undefined
        ? { tls: { ca } }
        : { client: deno.createHttpClient({ caCerts: [ca] }) }),
  });
}
