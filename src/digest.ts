import { toHex } from "./bytes.ts";

/** SHA-256 of `bytes`, in lower-case hexadecimal. */
export async function sha256Hex(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return toHex(new Uint8Array(digest));
}
