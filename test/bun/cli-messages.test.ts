import { describe, expect, test } from "bun:test";
import { fromHex } from "../../src/bytes.ts";
import { yard, yardOnDeno } from "./cli-harness.ts";

const bytes = (hex: string) => fromHex(hex) as Uint8Array;

describe("yard encode", () => {
  // Namespace (live), Track Name v, Request ID 0: laid out by hand from the message tables of MOQT.
  const requests: [args: string[], hex: string][] = [
    [["subscribe", "live--v"], "03000a0001046c697665017600"],
    [["publish", "live--v"], "1d000b0001046c69766501760000"],
    [["fetch", "live--v"], "16000a0001046c697665017600"],
    [["fetch", "live--v", "--draft", "18"], "16000f000101046c69766501760000000000"],
    [["track-status", "live--v"], "0d000a0001046c697665017600"],
    [["publish-namespace", "live"], "0600080001046c69766500"],
    [["subscribe-namespace", "live"], "5000080001046c69766500"],
    [["subscribe-tracks", "live"], "5100080001046c69766500"],
    [["SUBSCRIBE_TRACKS", "live", "--draft", "moqt-18"], "5100080001046c69766500"],
    [["subscribe", "live--v", "--request-id", "4"], "03000a0401046c697665017600"],
    [["publish", "live--v", "--track-alias=0x7"], "1d000b0001046c69766501760700"],
    [["subscribe", "live--v", "--token", "s"], "03000f0001046c6976650176010303030073"],
    [
      ["subscribe", "live--v", "--token", "s", "--token-type", "5"],
      "03000f0001046c6976650176010303030573",
    ],
    [["subscribe-namespace", ""], "500003000000"],
    [["subscribe", "--", "--t"], "0300050000017400"],
  ];

  test("prints the bytes of each of the seven requests", async () => {
    const runs = await Promise.all(requests.map(([args]) => yard(["encode", ...args])));
    for (const [i, [args, hex]] of requests.entries()) {
      expect({ args, ...runs[i] }).toMatchObject({
        args,
        status: 0,
        stdout: `${hex}\n`,
        stderr: "",
      });
    }
  });

  test("prints the SUBSCRIBE of the example, on Bun and on Deno", async () => {
    const args = ["encode", "subscribe", "example.2ecom-m1--video"];
    const hex = "03001800020b6578616d706c652e636f6d026d3105766964656f00\n";
    for (const run of await Promise.all([yard(args), yardOnDeno(args)])) {
      expect(run).toMatchObject({ status: 0, stdout: hex, stderr: "" });
    }
  });

  test("writes the bytes themselves with --binary", async () => {
    const run = await yard(["encode", "subscribe", "live--v", "--binary"]);
    expect(run.status).toBe(0);
    expect(run.bytes).toEqual(bytes("03000a0001046c697665017600"));
  });

  test("says where a name is wrong, the rule, and how it has to be written", async () => {
    const run = await yard(["encode", "subscribe", "example.com/m1--video"]);
    expect(run).toMatchObject({ status: 1, stdout: "" });
    expect(run.stderr).toContain('name "example.com/m1--video"');
    expect(run.stderr).toContain("(at character 7)");
    expect(run.stderr).toContain("two lower-case hexadecimal digits");
    expect(run.stderr).toContain("perhaps you mean: example.2ecom-m1--video\n");
  });

  test("refuses a request for a track without its name, and for a namespace with one", async () => {
    const [track, namespace] = await Promise.all([
      yard(["encode", "subscribe", "live"]),
      yard(["encode", "publish-namespace", "live--v"]),
    ]);
    expect(track).toMatchObject({ status: 1, stdout: "" });
    expect(track.stderr).toContain("SUBSCRIBE needs a Track Name");
    expect(namespace).toMatchObject({ status: 1, stdout: "" });
    expect(namespace.stderr).toContain("PUBLISH_NAMESPACE names no track");
  });
});

describe("yard decode", () => {
  const redirect = "0500163400000a6d6f71743a2f2f72322f01046c6976650176";

  test("shows a REDIRECT from an argument, from standard input and from raw bytes", async () => {
    const runs = await Promise.all([
      yard(["decode", redirect]),
      yard(["decode", "05", "0016", redirect.slice(6)]),
      yard(["decode"], {
        stdin: `${redirect.slice(0, 9)}\n\t ${redirect.slice(9).toUpperCase()}\n`,
      }),
      yard(["decode", "-"], { stdin: redirect }),
      yard(["decode", "--binary"], { stdin: bytes(redirect) }),
      yardOnDeno(["decode", "--binary"], { stdin: bytes(redirect) }),
    ]);
    for (const run of runs) {
      expect(run).toMatchObject({ status: 0, stderr: "" });
      expect(JSON.parse(run.stdout)).toMatchObject({
        type: "REQUEST_ERROR",
        errorCode: 0x34,
        errorName: "REDIRECT",
        retryInterval: 0,
        redirect: { connectUri: "moqt://r2/", trackNamespace: "live", trackName: "v" },
      });
    }
  });

  test("reads what encode wrote, in the draft that both are told", async () => {
    const encoded = await yard(["encode", "fetch", "live--v", "--draft", "19", "--binary"]);
    const [same, other] = await Promise.all([
      yard(["decode", "--binary", "--draft", "19"], { stdin: encoded.bytes }),
      yard(["decode", "--binary", "--draft", "22"], { stdin: encoded.bytes }),
    ]);
    expect(same.status).toBe(0);
    expect(JSON.parse(same.stdout)).toMatchObject({ type: "FETCH", fetchType: "STANDALONE" });
    expect(other.status).toBe(1);
    expect(other.stderr).toContain("PROTOCOL_VIOLATION");
  });

  test("never shows the value of a token", async () => {
    const token = "marker-of-a-secret";
    const encoded = await yard(["encode", "subscribe", "live--v", "--token", token]);
    expect(encoded.stdout).toContain(Buffer.from(token).toString("hex"));
    const run = await yard(["decode"], { stdin: encoded.stdout });
    expect(JSON.parse(run.stdout).parameters).toMatchObject([
      { type: "AUTHORIZATION_TOKEN", token: { aliasType: "USE_VALUE", tokenType: 0 } },
    ]);
    expect(run.stdout).not.toContain(token);
    expect(run.stdout).not.toContain(Buffer.from(token).toString("hex"));
  });

  test("names the session error of a malformed message and exits 1", async () => {
    const [setup, token, short] = await Promise.all([
      yard(["decode", "6f000000"]),
      yard(["decode", "03000d0001046c697665017601030109"]),
      yard(["decode", "03000a0001", "--draft", "20"]),
    ]);
    expect(setup).toMatchObject({ status: 1, stdout: "" });
    expect(setup.stderr).toStartWith("HEX: PROTOCOL_VIOLATION (0x3) under moqt-22: ");
    expect(token).toMatchObject({ status: 1, stdout: "" });
    expect(token.stderr).toStartWith("HEX: KEY_VALUE_FORMATTING_ERROR (0x6) under moqt-22: ");
    expect(short).toMatchObject({ status: 1, stdout: "" });
    expect(short.stderr).toStartWith("HEX: PROTOCOL_VIOLATION (0x3) under moqt-20: ");
  });

  test("says what is wrong with text that is no hexadecimal", async () => {
    const [letter, odd, empty, raw] = await Promise.all([
      yard(["decode", "03 0x"]),
      yard(["decode"], { stdin: "030" }),
      yard(["decode"], { stdin: "" }),
      yard(["decode"], { stdin: bytes("af000000") }),
    ]);
    expect(letter.stderr).toContain("HEX: character 4 is no hexadecimal digit");
    expect(odd.stderr).toContain(
      "standard input: 3 hexadecimal digits; expected two for each byte",
    );
    expect(empty.stderr).toContain("standard input: empty; expected one control message");
    expect(raw.stderr).toContain("raw bytes need --binary");
    for (const run of [letter, odd, empty, raw]) {
      expect(run).toMatchObject({ status: 1, stdout: "" });
    }
  });
});
