/** A track that travels through `npm start`, in two terminals as its output says. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { yard } from "./cli-harness.ts";
import { launch, type RunningProcess, root } from "./processes.ts";

// Programs start slowly on a busy machine.
setDefaultTimeout(30_000);

describe("npm start and two terminals", () => {
  let home: string;
  let instance: RunningProcess;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "yardmaster-tracks-"));
    instance = launch(["node", join(root, "scripts", "launch.mjs"), "start"], {
      env: { YARDMASTER_HOME: home, PORT: "0" },
    });
    await instance.printed(/Ctrl-C/);
  });

  afterAll(() => {
    instance.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  });

  const ways = {
    "raw QUIC": /(moqt:\/\/127\.0\.0\.1:\d+\/moqt) +raw QUIC/,
    "WebTransport over HTTP/3": /(https:\/\/127\.0\.0\.1:\d+\/moqt) +WebTransport over HTTP\/3/,
    QMux: /(ws:\/\/127\.0\.0\.1:\d+\/moqt) +QMux/,
  };
  for (const [carrier, line] of Object.entries(ways)) {
    test(`show a track on its way through the relay that the table selects, by ${carrier} [LB-EX-1, LB-EX-5]`, async () => {
      const service = (await instance.printed(line))[1] as string;
      const name = carrier.replaceAll(/\W/g, "_");
      const env = { YARDMASTER_HOME: home };
      const subscribing = yard(["sub", service, "example.2ecom-m1", name], { env });
      await instance.printed(new RegExp(`relay r2: SUBSCRIBE example.2ecom-m1--${name}`));
      const published = await yard(["pub", service, "example.2ecom-m1", name, "-"], {
        env,
        stdin: "hello\n",
      });
      expect(published.status).toBe(0);
      const subscribed = await subscribing;
      expect(subscribed.stdout).toBe("hello\n");
      expect(subscribed.status).toBe(0);
      expect(subscribed.stderr).toContain(`connected to ${service} by ${carrier}, moqt-22`);
      expect(subscribed.stderr).toMatch(/REDIRECT to moqt:\/\/127\.0\.0\.1:\d+\/r2\n/);
      expect(instance.output()).toContain(`relay r2: PUBLISH example.2ecom-m1--${name}`);
    });
  }
});
