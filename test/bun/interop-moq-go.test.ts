import { describe, expect, test } from "bun:test";
import { chmod, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import { inFolder } from "./cli-harness.ts";

const script = join(import.meta.dir, "..", "..", "scripts", "interop-moq-go.ts");

/** Runs the command with a `go` that does what the cases of a shell say, and all else at once. */
function runWith(cases: string) {
  return inFolder(async (folder) => {
    const go = join(folder, "go");
    await writeFile(go, `#!/bin/sh\ncase "$*" in\n${cases}\nesac\n`);
    await chmod(go, 0o755);
    const { exitCode, stdout } = Bun.spawnSync([process.execPath, script], {
      env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` },
    });
    return { exitCode, last: stdout.toString().trimEnd().split("\n").at(-1) };
  });
}

const get = '"get github.com/floatdrop/moq-go@"*)';

describe("the interop run with moq-go", () => {
  test("is skipped, with the module and the reason in one line, where a module cannot be had", async () => {
    const refused = `${get} printf '%s\\n\\t%s\\n' \
      'go: module github.com/a/b: reading https://proxy.golang.org/github.com/!a/b/@v/list: 403 Forbidden' \
      'server response: This module version is not available.' >&2; exit 1 ;;`;
    expect(await runWith(refused)).toEqual({
      exitCode: 0,
      last: "interop: skipped: the Go module github.com/A/b could not be had: 403 Forbidden server response: This module version is not available.",
    });
    const offline = `${get} echo 'go: x@v1: Get "https://proxy.golang.org/x/@v/v1.info": dial tcp: lookup proxy.golang.org: no such host' >&2; exit 1 ;;`;
    expect(await runWith(offline)).toEqual({
      exitCode: 0,
      last: "interop: skipped: the Go module x could not be had: dial tcp: lookup proxy.golang.org: no such host",
    });
  });

  test("fails where anything else goes wrong", async () => {
    const tampered = `${get} echo 'verifying module: checksum mismatch' >&2; exit 1 ;;`;
    expect(await runWith(tampered)).toMatchObject({
      exitCode: 1,
      last: expect.stringMatching(
        /^interop: failed: go get \S+: verifying module: checksum mismatch$/,
      ),
    });
    const broken = "\"build \"*) echo 'relay.go:1: syntax error' >&2; exit 1 ;;";
    expect(await runWith(broken)).toEqual({
      exitCode: 1,
      last: "interop: failed: the relay could not be built: relay.go:1: syntax error",
    });
  });
});
