import { fromHex } from "../../bytes.ts";
import { decodeControlMessage, MoqtError, messageToJson } from "../../moqt/mod.ts";
import { command } from "../command.ts";
import { InputError, UsageError } from "../errors.ts";
import { readBytes, sourceName } from "../input.ts";
import { draftOption } from "../option-values.ts";
import { printJson } from "../terminal.ts";

/** `yard decode`: one control message as JSON. */
export const decode = command({
  name: "decode",
  summary: "read a MOQT control message from bytes",
  args: {
    hex: {
      type: "positional",
      required: false,
      description:
        "the message in hexadecimal, white space allowed; standard input without it or as -",
    },
    draft: { type: "string", default: "22", description: "MOQT draft, 18 to 22" },
    binary: { type: "boolean", description: "standard input has the bytes themselves" },
  },
  repeats: true,
  details: [
    "A message that would close the session ends the command with status 1 and the name of the\n" +
      "session error. Values of authorization tokens are never shown.",
  ],
  examples: [
    "decode 030018 00 02 0b6578616d706c652e636f6d 026d31 05766964656f 00",
    "encode subscribe example.2ecom-m1--video | yard decode",
  ],
  async run(values, words) {
    const draft = draftOption(values.draft);
    const fromInput = words.length === 0 || (words.length === 1 && words[0] === "-");
    if (values.binary && !fromInput) {
      throw new UsageError("option --binary reads standard input; leave out the hexadecimal");
    }
    const source = fromInput ? sourceName("-") : "HEX";
    const bytes = values.binary
      ? await readBytes("-")
      : hexBytes(fromInput ? latin1(await readBytes("-")) : words.join(""), source);
    if (bytes.length === 0) throw new InputError(`${source}: empty; expected one control message`);
    try {
      printJson(messageToJson(decodeControlMessage(bytes, draft)));
    } catch (error) {
      if (!(error instanceof MoqtError)) throw error;
      const number = `0x${error.numericCode.toString(16)}`;
      throw new InputError(
        `${source}: ${error.code} (${number}) under moqt-${draft}: ${error.message}`,
        error,
      );
    }
    return undefined;
  },
});

function hexBytes(text: string, source: string): Uint8Array {
  const digits = text.replace(/\s+/g, "");
  const bytes = fromHex(digits);
  if (bytes !== undefined) return bytes;
  const bad = text.search(/[^0-9a-fA-F\s]/);
  throw new InputError(
    bad >= 0
      ? `${source}: character ${bad} is no hexadecimal digit; raw bytes need --binary`
      : `${source}: ${digits.length} hexadecimal digits; expected two for each byte`,
  );
}

/** Whatever the bytes are, one character each, so that a wrong one has a position. */
function latin1(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}
