import { describe, expect, test } from "bun:test";
import manifest from "../../package.json" with { type: "json" };
import { commands } from "../../src/cli/commands.ts";
import { likelyName } from "../../src/cli/name-argument.ts";
import { alignedLines } from "../../src/cli/table.ts";
import { printable, styleFor } from "../../src/cli/terminal.ts";
import { nearest } from "../../src/nearest.ts";
import { yard, yardOnDeno } from "./cli-harness.ts";

describe("yard", () => {
  test("tells its version", async () => {
    const run = await yard(["--version"]);
    expect(run).toMatchObject({ status: 0, stdout: `yard ${manifest.version}\n`, stderr: "" });
  });

  test("lists every command in its help, on standard output", async () => {
    const run = await yard(["--help"]);
    expect(run).toMatchObject({ status: 0, stderr: "" });
    for (const [name, { summary }] of Object.entries(commands)) {
      expect(run.stdout).toMatch(new RegExp(`^  ${name} +${summary}$`, "m"));
    }
  });

  test("shows the help on standard error and fails without a command", async () => {
    const run = await yard([]);
    expect(run).toMatchObject({ status: 2, stdout: "" });
    expect(run.stderr).toContain("Usage: yard COMMAND");
  });

  test("has one summary of a command in the overview and in its own help", async () => {
    for (const [name, { summary, load }] of Object.entries(commands)) {
      const command = await load();
      expect({ name: command.name, summary: command.summary }).toEqual({ name, summary });
    }
  });

  test("shows usage, options and an example for each command", async () => {
    const runs = Object.keys(commands).map(async (name) => [name, await yard([name, "--help"])]);
    for (const [name, run] of (await Promise.all(runs)) as [
      string,
      Awaited<ReturnType<typeof yard>>,
    ][]) {
      expect(run).toMatchObject({ status: 0, stderr: "" });
      expect(run.stdout).toContain(`Usage: yard ${name}`);
      expect(run.stdout).toContain("Options:\n");
      expect(run.stdout).toMatch(new RegExp(`Examples?:\n {2}yard ${name}`));
    }
  });

  test("takes `help COMMAND` for `COMMAND --help`", async () => {
    const [long, short] = await Promise.all([yard(["help", "route"]), yard(["route", "-h"])]);
    expect(long.stdout).toBe(short.stdout);
    expect(long.status).toBe(0);
  });

  const refused: [args: string[], message: string, usage: string][] = [
    [["rotue"], "unknown command rotue; did you mean route?", "yard COMMAND"],
    [["constructor"], "unknown command constructor", "yard COMMAND"],
    [["--verson"], "unknown option --verson; did you mean --version?", "yard COMMAND"],
    [["route"], "missing argument NAMESPACE", "yard route NAMESPACE"],
    [["encode", "subscribe"], "missing argument NAME", "yard encode REQUEST NAME"],
    [["route", "a", "b"], "too many arguments: expected NAMESPACE, got 2", "yard route NAMESPACE"],
    [["keygen", "here"], "takes no arguments, only options", "yard keygen"],
    [
      ["route", "a", "--sanpshot", "f"],
      "unknown option --sanpshot; did you mean --snapshot?",
      "yard route",
    ],
    [["route", "a", "--no-json"], "unknown option --no-json", "yard route"],
    [["route", "a", "-j"], "unknown option -j", "yard route"],
    [["route", "a", "--snapshot"], "option --snapshot needs a value", "yard route"],
    [["route", "a", "--snapshot="], "option --snapshot needs a value", "yard route"],
    [
      ["route", "a", "--snapshot", "--json"],
      "option --snapshot needs a value; write --snapshot=--json if that is the value",
      "yard route",
    ],
    [["route", "a", "--json=yes"], "option --json takes no value", "yard route"],
    [["route", "a", "--home", "x", "--home", "y"], "option --home is given twice", "yard route"],
    [["keygen", "--rotate", "--force"], "--rotate and --force exclude each other", "yard keygen"],
    [["keygen", "--out", "x", "--home", "y"], "--out and --home exclude each other", "yard keygen"],
    [
      ["encode", "subscribre", "a--b"],
      "unknown request subscribre; did you mean subscribe?",
      "yard encode",
    ],
    [
      ["encode", "subscribe", "a--b", "--draft", "17"],
      "option --draft has to be one of 22, 21, 20, 19, 18",
      "yard encode",
    ],
    [
      ["encode", "subscribe", "a--b", "--request-id", "-1"],
      "option --request-id has to be an integer in 0..2^64-1",
      "yard encode",
    ],
    [["decode", "--binary", "00"], "option --binary reads standard input", "yard decode"],
  ];

  test("answers a wrong command line with status 2, the reason and the usage", async () => {
    const runs = await Promise.all(refused.map(([args]) => yard(args)));
    for (const [i, [args, message, usage]] of refused.entries()) {
      expect({ args, ...runs[i] }).toMatchObject({ args, status: 2, stdout: "" });
      expect(runs[i]?.stderr).toContain(message);
      expect(runs[i]?.stderr).toContain(`usage: ${usage}`);
    }
  });

  test("has the same statuses and words on Deno", async () => {
    const [wrong, missing, version] = await Promise.all([
      yardOnDeno(["route", "a", "--sanpshot", "f"]),
      yardOnDeno(["validate", "/no/such/file"]),
      yardOnDeno(["--version"]),
    ]);
    expect(wrong).toMatchObject({ status: 2, stdout: "" });
    expect(wrong.stderr).toContain("unknown option --sanpshot; did you mean --snapshot?");
    expect(missing).toMatchObject({
      status: 1,
      stdout: "",
      stderr: "/no/such/file: no such file\n",
    });
    expect(version).toMatchObject({ status: 0, stdout: `yard ${manifest.version}\n` });
  });

  test("writes no colour where the output is no terminal", async () => {
    const run = await yard(["rotue"]);
    expect(run.stderr).not.toContain("\u001b");
  });
});

describe("terminal", () => {
  test("uses colour on a terminal, unless NO_COLOR or TERM=dumb says no", () => {
    expect(styleFor(true, {}).red("x")).toBe("\u001b[31mx\u001b[39m");
    expect(styleFor(true, { NO_COLOR: "" }).red("x")).toBe("\u001b[31mx\u001b[39m");
    for (const plain of [
      styleFor(false, {}),
      styleFor(true, { NO_COLOR: "1" }),
      styleFor(true, { TERM: "dumb" }),
    ]) {
      expect(plain.bold("x") + plain.red("y")).toBe("xy");
    }
  });

  test("shows control and non-ASCII characters of others as code points", () => {
    expect(printable("a\u001b[2Jé\u202e😀")).toBe("a\\u{1b}[2J\\u{e9}\\u{202e}\\u{1f600}");
  });

  test("aligns columns and leaves no blanks at the end", () => {
    expect(alignedLines([["a", "bb"], ["ccc", "d"], ["e"]])).toEqual(["a    bb", "ccc  d", "e"]);
  });

  test("suggests a word within two edits, and none for a wild guess", () => {
    expect(nearest("pubish", ["publish", "route"])).toBe("publish");
    expect(nearest("xx", ["publish", "up"])).toBeUndefined();
    expect(nearest("--jsn", ["--json", "--home"])).toBe("--json");
    expect(nearest("-x", ["--out", "--json"])).toBeUndefined();
  });
});

describe("likelyName", () => {
  test("escapes what someone wrote as it is, by slashes or by dashes", () => {
    expect(likelyName("example.com/m1")).toBe("example.2ecom-m1");
    expect(likelyName("example.com-m1--video")).toBe("example.2ecom-m1--video");
    expect(likelyName("live/ß/x y")).toBe("live-.c3.9f-x.20y");
  });

  test("keeps what was escaped already", () => {
    expect(likelyName("example.2ecom/m1")).toBe("example.2ecom-m1");
  });

  test("has no answer where no legal name comes out", () => {
    expect(likelyName(Array(33).fill("a").join("/"))).toBeUndefined();
  });
});
