/** Proxy mode of `npm start`, as its output says: a relay is drained under a subscriber. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { yard } from "./cli-harness.ts";
import { bun, launch, type RunningProcess, root } from "./processes.ts";

// Programs start slowly on a busy machine.
setDefaultTimeout(60_000);

describe("npm start in proxy mode", () => {
  let home: string;
  let instance: RunningProcess;
  let service: string;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "yardmaster-proxy-"));
    instance = launch(["node", join(root, "scripts", "launch.mjs"), "start"], {
      env: { YARDMASTER_HOME: home, PORT: "0", YARDMASTER_LOG: "json" },
    });
    await instance.printed(/Ctrl-C/);
    service = (await instance.printed(/moqt:\/\/127\.0\.0\.1:\d+\/proxy/))[0];
  });

  afterAll(() => {
    instance.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  });

  test("carries a track, and goes on at another relay when its own is drained, no group lost or doubled [LB-KEY-6, LB-DISPL-2, LB-DISPL-3, LB-PSETUP-1]", async () => {
    const env = { YARDMASTER_HOME: home };
    const subscriber = launch(
      [bun, yardScript, "sub", service, "example.2ecom-m1", "clock", "--json"],
      { env },
    );
    await instance.printed(/relay r2: SUBSCRIBE example\.2ecom-m1--clock/);
    const publisher = Bun.spawn(
      [bun, yardScript, "pub", redirecting(service), "example.2ecom-m1", "clock", "-"],
      {
        cwd: root,
        env: { ...process.env, ...env },
        stdin: "pipe",
        stdout: "ignore",
        stderr: "ignore",
      },
    );
    let written = 0;
    const write = () => {
      publisher.stdin.write(`line ${written++}\n`);
      publisher.stdin.flush();
    };
    const writing = setInterval(write, 50);
    try {
      await subscriber.printed(/"group"/);
      const drained = await yard(["drain", "r2"], { env });
      expect(drained.status).toBe(0);
      await instance.printed(/"outcome":"moved","from":"r2","to":"r[13]"/);
      const before = subscriber.output().split("\n").length;
      // What comes from now on comes from the other relay.
      while (subscriber.output().split("\n").length < before + 5) await Bun.sleep(20);
    } finally {
      clearInterval(writing);
      publisher.stdin.end();
    }
    expect(await publisher.exited).toBe(0);
    expect(await subscriber.exited).toBe(0);
    const objects = subscriber
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as { group: number; payload: string });
    const first = objects[0]?.group ?? 0;
    expect(objects.map(({ group }) => group)).toEqual(
      Array.from({ length: written }, (_, i) => first + i),
    );
    const output = subscriber.output();
    expect(output).not.toContain("GOAWAY");
    expect(output).not.toContain("REDIRECT");
    const status = await (await fetch(`${httpOf(instance)}/status`)).json();
    expect(status).toMatchObject({
      mode: "proxy",
      limits: { proxy: { drainDeadline: { limit: 5000 } } },
    });
  });

  test("answers at the other path with REDIRECT, in the same process [LB-KEY-6]", async () => {
    const { status, stderr } = await yard(
      ["sub", redirecting(service), "example.2ecom-m2", "none", "--timeout", "3"],
      { env: { YARDMASTER_HOME: home } },
    );
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/REDIRECT to moqt:\/\/127\.0\.0\.1:\d+\/r\d/);
  });
});

const yardScript = join(root, "src", "cli", "yard.ts");

/** The address of the same service in redirect mode. */
function redirecting(proxy: string): string {
  return proxy.replace("/proxy", "/moqt");
}

function httpOf(instance: RunningProcess): string {
  return instance.output().match(/answers on (http:\S+)/)?.[1] ?? "";
}
