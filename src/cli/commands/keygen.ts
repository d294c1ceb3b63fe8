import { type Role, roles } from "../../agent/mod.ts";
import { isInstanceId } from "../../report/mod.ts";
import { command } from "../command.ts";
import { UsageError } from "../errors.ts";
import { createSigningKey, homeAt, keyFilesIn } from "../home.ts";
import {
  type Created,
  createInstanceKey,
  createOperatorKey,
  isOperatorName,
  type PersonFiles,
} from "../people.ts";
import { print, printJson, tell } from "../terminal.ts";

/** `yard keygen`: keys of the agent, of operators, of instances. A private key is never shown. */
export const keygen = command({
  name: "keygen",
  summary: "create the key that signs snapshots, an operator's or an instance's, or rotate it",
  args: {
    operator: {
      type: "string",
      valueHint: "NAME",
      description: "make the key by which this operator signs actions",
    },
    role: {
      type: "string",
      valueHint: "ROLE",
      description: "of the operator: view, pool or routes (default routes)",
    },
    instance: {
      type: "string",
      valueHint: "ID",
      description: "make the key by which this instance reports",
    },
    rotate: {
      type: "boolean",
      description: "make a new key; the signing key before stays trusted",
    },
    force: {
      type: "boolean",
      description: "replace the key; the signing key before is trusted no longer",
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
    "With --operator it writes operator.jwk, with --instance instance-ID.jwk, and prints the entry for\n" +
      "the agent's list, which goes into operators.json or instances.json of the home as well. An agent\n" +
      "reads these lists when it starts.",
  ],
  examples: [
    "keygen",
    "keygen --rotate --home /var/lib/yardmaster",
    "keygen --operator ada --role routes",
    "keygen --instance edge-1",
  ],
  async run({ operator, role, instance, rotate, force, out, home }) {
    if (rotate && force) throw new UsageError("--rotate and --force exclude each other");
    if (out !== undefined && home !== undefined) {
      throw new UsageError("--out and --home exclude each other");
    }
    if (operator !== undefined && instance !== undefined) {
      throw new UsageError("--operator and --instance exclude each other");
    }
    if (role !== undefined && operator === undefined) {
      throw new UsageError("--role goes with --operator");
    }
    const { keys, directory } = homeAt(home);
    const files: PersonFiles =
      out === undefined ? { ...keys, lists: directory } : { ...keyFilesIn(out), lists: undefined };
    const replace = rotate || force;
    if (operator !== undefined) {
      if (!isOperatorName(operator)) {
        throw new UsageError("option --operator has to be 1 to 64 characters");
      }
      const someone = { name: operator, roles: [roleOption(role ?? "routes")] };
      showEntry(await createOperatorKey(files, someone, replace));
      return undefined;
    }
    if (instance !== undefined) {
      if (!isInstanceId(instance)) {
        const form = "1 to 64 letters, digits, '.', '_' and '-'";
        throw new UsageError(`option --instance has to be ${form}`);
      }
      showEntry(await createInstanceKey(files, instance, replace));
      return undefined;
    }
    const signing = out === undefined ? keys : keyFilesIn(out);
    const existing = rotate ? "rotate" : force ? "replace" : "refuse";
    const { kid, trusted } = await createSigningKey(signing, existing);
    tell(`signing key: ${signing.signing} (private: keep it secret)`);
    tell(`trusted keys: ${signing.trusted} (${trusted.length})`);
    print(kid);
    return undefined;
  },
});

function showEntry({ file, list, entry }: Created<unknown>): void {
  tell(`key: ${file} (private: keep it secret)`);
  tell(list === undefined ? "entry for the agent's list:" : `entry, which ${list} has now:`);
  printJson(entry);
}

function roleOption(text: string): Role {
  const role = roles.find((known) => known === text);
  if (role !== undefined) return role;
  throw new UsageError(`option --role has to be one of ${roles.join(", ")}`);
}
