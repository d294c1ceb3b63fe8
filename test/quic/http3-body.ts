import { concatBytes } from "../../src/bytes.ts";

/** All bytes of a message's body. */
export async function readBody(message: {
  read(): Promise<Uint8Array | null>;
}): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for (let bytes = await message.read(); bytes !== null; bytes = await message.read()) {
    chunks.push(bytes);
  }
  return concatBytes(...chunks);
}
