/** `npm run origin` as a user meets it: a process, curl, an intermediary, Ctrl-C. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { toHex } from "../../src/bytes.ts";
import { codes, settings } from "../support/http2/frames.ts";
import { RawClient } from "../support/http2/raw-client.ts";
import { launch, root, withDirectory } from "./processes.ts";

const command = ["node", join(root, "scripts", "launch.mjs"), "origin"];
const form = ["content-type", "application/x-www-form-urlencoded"] as const;

/** Exit status and words of an origin that cannot have the port. */
function refusalOf(home: string, port: string): [number, string] {
  const env = { ...process.env, NO_COLOR: "1", YARDMASTER_HOME: home, PORT: port };
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd: root, env, timeout: 20_000 });
  return [exitCode, stderr.toString()];
}

test("npm run origin blocks the client that gave three wrong passwords, tells how to try it, and ends in peace [CG-ACT-2, CG-FRAME2-1]", async () => {
  await withDirectory(async (home) => {
    const origin = launch(command, { env: { YARDMASTER_HOME: home, PORT: "0" } });
    try {
      const [, url = ""] = await origin.printed(/answers on (https:\S+)/);
      await origin.printed(/Ctrl-C ends this/);
      const certificate = join(home, "origin", "certificate.pem");
      expect(origin.output()).toContain(`gateway --listen 127.0.0.1:8443 --origin ${url}`);
      expect(origin.output()).toContain("origin/certificate.pem --client header:x-user");

      const { port } = new URL(url);
      const inUse = `yardmaster: port ${port} is in use: PORT=9444 takes another\n`;
      expect(refusalOf(home, port)).toEqual([1, inUse]);
      const noPort = "yardmaster: PORT has to be a number from 0 to 65535\n";
      for (const wrong of ["abc", "99999"]) expect(refusalOf(home, wrong)).toEqual([1, noPort]);

      const curl = Bun.spawnSync(["curl", "-sS", "--cacert", certificate, `${url}/whoami`]);
      expect(curl.stdout.toString()).toBe("ungrouped\n");

      const client = await RawClient.connect({
        port: Number(port),
        tls: true,
        settings: [[settings.SHARED_CONNECTION, 1]],
      });
      const login = (group: string, password: string) =>
        client.fetch({
          method: "POST",
          path: "/login",
          fields: [["client-group", group], form],
          content: `password=${password}`,
        });
      for (let i = 0; i < 3; i++) expect((await login("907", "wrong")).status).toBe(401);
      const [block] = client.received("GROUP_CONTROL");
      expect(toHex(block?.payload ?? new Uint8Array())).toBe("0000038b0000003c0100000000");
      const late = client.request({ path: "/whoami", fields: [["client-group", "907"]] });
      expect(await client.reset(late)).toBe(codes.REFUSED_STREAM);
      expect((await login("48213", "yardmaster")).content).toBe("Welcome.\n");
      const page = await client.fetch({ path: "/", fields: [["client-group", "48213"]] });
      expect(page.content).toContain("client group 48213");

      const download = client.request({ path: "/download", fields: [["client-group", "48213"]] });
      await client.head(download);
      const stop = { method: "POST", path: "/stop", fields: [["client-group", "48213"]] } as const;
      expect((await client.fetch(stop)).content).toBe("1 of your requests were stopped.\n");
      expect(await client.reset(download)).toBe(codes.CANCEL);
      const move = { method: "POST", path: "/move", fields: [["client-group", "48213"]] } as const;
      expect((await client.fetch(move)).status).toBe(200);
      expect(toHex(client.received("GROUP_CONTROL")[1]?.payload ?? new Uint8Array())).toMatch(
        /^0000bc550000000100/,
      );

      origin.kill("SIGTERM");
      expect(await origin.exited).toBe(0);
      await client.over();
      expect(client.goaways[0]?.last).toBe(0x7fff_ffff);
      await client.close();
    } finally {
      origin.kill("SIGKILL");
      await origin.exited;
    }
  });
}, 30_000);
