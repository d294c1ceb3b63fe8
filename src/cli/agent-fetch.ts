/**
 * `fetch` that trusts a private certificate authority. Bun and Deno each have an option of their
 * own for that.
 *
 * @module
 */

import type { Fetch } from "../report/mod.ts";
import { InputError } from "./errors.ts";
import { readText, sourceName } from "./input.ts";

/** Of Deno, as far as it is used here. */
interface DenoHttp {
  createHttpClient(options: { caCerts: string[] }): unknown;
}

/**
 * `fetch` that trusts the authorities in the PEM file `path` too.
 *
 * @throws {InputError} the file cannot be read or has no certificate
 */
export async function fetchTrusting(path: string): Promise<Fetch> {
  const ca = await readText(path);
  if (!ca.includes("-----BEGIN CERTIFICATE-----")) {
    throw new InputError(`${sourceName(path)}: there is no certificate in PEM form in it`);
  }
  const { Deno: deno } = globalThis as { Deno?: DenoHttp };
  // Types know neither option: each is another runtime's.
  const more = deno === undefined ? { tls: { ca } } : { client: httpClient(deno, ca, path) };
  return (url, init) => fetch(url, { ...init, ...more } as RequestInit);
}

function httpClient(deno: DenoHttp, ca: string, path: string): unknown {
  try {
    return deno.createHttpClient({ caCerts: [ca] });
  } catch (cause) {
    throw new InputError(`${sourceName(path)}: its certificates cannot be used`, cause);
  }
}
