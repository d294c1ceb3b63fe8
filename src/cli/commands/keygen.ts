import { command } from "../command.ts";
import { UsageError } from "../errors.ts";
import { createSigningKey, homeAt, keyFilesIn } from "../home.ts";
import { print, tell } from "../terminal.ts";

/** `yard keygen`: the key that signs snapshots. The private key itself is never shown. */
export const keygen = command({
  name: "keygen",
  summary: "create the key that signs snapshots, or rotate it",
  args: {
    rotate: {
      type: "boolean",
      description: "make a new signing key, and go on trusting the one before",
    },
    force: {
      type: "boolean",
      description: "replace the signing key, and trust the one before no longer",
    },
    out: { type: "string", valueHint: "DIR", description: "put the key files here" },
    home: {
      type: "string",
      valueHint: "DIR",
      description: "put them into DIR/keys (default $YARDMASTER_HOME or .yardmaster)",
    },
  },
  details: [
    "Writes signing.jwk (private, mode 0600) and trusted.jwks (public, for the load balancers), and\n" +
      "prints the key's identifier (kid). Give load balancers the new trusted.jwks before you publish\n" +
      "with a new key.",
  ],
  examples: ["keygen", "keygen --rotate --home /var/lib/yardmaster"],
  async run({ rotate, force, out, home }) {
    if (rotate && force) throw new UsageError("--rotate and --force exclude each other");
    if (out !== undefined && home !== undefined) {
      throw new UsageError("--out and --home exclude each other");
    }
    const files = out === undefined ? homeAt(home).keys : keyFilesIn(out);
    const existing = rotate ? "rotate" : force ? "replace" : "refuse";
    const { kid, trusted } = await createSigningKey(files, existing);
    tell(`signing key: ${files.signing} (private: keep it secret)`);
    tell(`trusted keys: ${files.trusted} (${trusted.length})`);
    print(kid);
    return undefined;
  },
});
