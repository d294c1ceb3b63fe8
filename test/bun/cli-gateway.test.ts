/** `yard gateway` as a process, on Bun and on Deno: what it says, how it reloads and how it ends. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { freePort } from "../../bench/gateway/ports.ts";
import { settings } from "../support/http2/frames.ts";
import { RawClient } from "../support/http2/raw-client.ts";
import { RawOrigin } from "../support/http2/raw-origin.ts";
import { inFolder, jsonFile, yard } from "./cli-harness.ts";
import { bun, deno, eventually, launch, type RunningProcess, root } from "./processes.ts";

setDefaultTimeout(60_000);

const entry = join(root, "src", "cli", "yard.ts");
const runtimes: Readonly<Record<string, readonly string[]>> = {
  Bun: [bun, entry],
  Deno: [deno, "run", "--quiet", "-A", entry],
};

interface Scene {
  readonly folder: string;
  readonly origin: RawOrigin;
  /** `yard gateway ARGS` in the folder. */
  run(runtime: string, ...args: string[]): RunningProcess;
  client(port: number): Promise<RawClient>;
}

function withScene(body: (scene: Scene) => Promise<void>): Promise<void> {
  return inFolder(async (folder) => {
    const ends: (() => unknown)[] = [];
    const origin = await RawOrigin.listen({
      settings: [[settings.SHARED_CONNECTION_POLICY, 0]],
      onRequest: (request) => {
        if (!request.path.startsWith("/wait")) request.respond(200, [], request.path);
      },
    });
    ends.push(() => origin.close());
    try {
      await body({
        folder,
        origin,
        run(runtime, ...args) {
          const command = [...(runtimes[runtime] as string[]), "gateway", ...args];
          const running = launch(command, { cwd: folder, env: { YARDMASTER_HOME: folder } });
          ends.push(() => running.kill("SIGKILL"));
          return running;
        },
        async client(port) {
          const client = await RawClient.connect({ port });
          ends.push(() => client.close());
          return client;
        },
      });
    } finally {
      for (const end of ends.reverse()) await end();
    }
  });
}

/** The port that a gateway says it listens on. */
async function portOf(running: RunningProcess, scheme = "http"): Promise<number> {
  const [, port] = await running.printed(
    new RegExp(`gateway at ${scheme}://127\\.0\\.0\\.1:(\\d+)`),
  );
  return Number(port);
}

const cleartext = (port: number) => [
  "--listen-cleartext",
  "127.0.0.1:0",
  "--origin",
  `h2c://127.0.0.1:${port}`,
];

/** Signals that `RunningProcess` has no name for. */
function hangUp({ pid }: RunningProcess): void {
  process.kill(pid, "SIGHUP");
}

for (const runtime of Object.keys(runtimes)) {
  describe(`yard gateway on ${runtime}`, () => {
    test("says where it listens, what it trusts, and how to try it", () =>
      withScene(async ({ folder, origin, run }) => {
        const url = `h2c://127.0.0.1:${origin.port}`;
        const running = run(
          runtime,
          ...["--listen", "127.0.0.1:0", "--origin", url, "--admin", "127.0.0.1:0"],
        );
        const port = await portOf(running, "https");
        const [line] = await running.printed(/try it: curl .*/);
        expect(line).toBe(
          `try it: curl --cacert gateway/development-certificate.pem https://127.0.0.1:${port}/`,
        );
        expect(running.output()).toContain(`requests for any host go to ${url}, in cleartext`);
        expect(running.output()).toContain("each connection is a client of its own");
        const curl = Bun.which("curl");
        if (curl !== null) {
          const [, ...args] = line.slice("try it: ".length).split(" ");
          const child = Bun.spawn([curl, "-s", ...args], { cwd: folder });
          expect(await new Response(child.stdout).text()).toBe("/");
        }
        const [, page] = await running.printed(/page at (http:\S+)/);
        expect(await (await fetch(page as string)).text()).toContain("Shared connections");
        running.kill("SIGTERM");
        expect(await running.exited).toBe(0);
      }));

    test("says at its start that the store of the fleet does not answer, and why", () =>
      withScene(async ({ origin, run }) => {
        const fleet = await freePort();
        const running = run(
          runtime,
          ...cleartext(origin.port),
          ...["--client", "header:x-user", "--fleet", `redis://127.0.0.1:${fleet}`],
        );
        await running.printed(/try it: curl .*/);
        expect(running.output()).toContain(
          "the store of the fleet is lost: " +
            `the Redis server at 127.0.0.1:${fleet} does not answer (ECONNREFUSED)\n` +
            "  BLOCK and LIMIT hold in this process alone until it answers\n",
        );
        running.kill("SIGTERM");
        expect(await running.exited).toBe(0);
      }));

    test("finishes what is in progress after SIGTERM, and ends with 0", () =>
      withScene(async ({ origin, run, client }) => {
        const running = run(runtime, ...cleartext(origin.port), "--access-log", "-");
        const one = await client(await portOf(running));
        const waiting = one.request({ path: "/wait" });
        const held = await origin.requestFor("/wait");
        running.kill("SIGTERM");
        await one.goaway(0);
        held.respond(200, [], "held");
        expect((await one.response(waiting)).content).toBe("held");
        expect(await running.exited).toBe(0);
        const lines = running
          .output()
          .split("\n")
          .filter((line) => line.startsWith("{"));
        const events = lines.map((line) => JSON.parse(line).event);
        expect(events.slice(-1)).toEqual(["ended"]);
        expect(events).toContain("request");
      }));

    test("ends at once by a second signal, and takes two in one moment for one", () =>
      withScene(async ({ origin, run, client }) => {
        const running = run(runtime, ...cleartext(origin.port));
        const one = await client(await portOf(running));
        one.request({ path: "/wait" });
        await origin.requestFor("/wait");
        running.kill("SIGINT");
        await running.printed(/ending: /);
        running.kill("SIGINT");
        await Bun.sleep(700);
        expect(one.closed).toBe(false);
        running.kill("SIGTERM");
        expect(await running.exited).toBe(0);
      }));

    test("reads its file again on SIGHUP, and keeps the old one where the new is wrong", () =>
      withScene(async ({ folder, origin, run, client }) => {
        const json = (more: object = {}) => ({
          listen: [{ address: "127.0.0.1:0", cleartext: true }],
          origins: [{ origin: `h2c://127.0.0.1:${origin.port}` }],
          ...more,
        });
        const file = await jsonFile(folder, "gateway.json", json());
        const running = run(runtime, "--config", file);
        const port = await portOf(running);
        const one = await client(port);
        expect((await one.fetch({ path: "/1" })).status).toBe(200);
        await jsonFile(folder, "gateway.json", json({ client: "cookie", retrys: 1 }));
        hangUp(running);
        await running.printed(/the configuration before stays in force/);
        expect(running.output()).toContain(
          "gateway.json: retrys: unknown key; did you mean retries?",
        );
        expect(running.output()).toContain('gateway.json: client: has to be "connection"');
        expect((await one.fetch({ path: "/2" })).status).toBe(200);
        const other = await RawOrigin.listen({ onRequest: (request) => request.respond(204) });
        try {
          const origins = [{ origin: `h2c://127.0.0.1:${other.port}` }];
          await jsonFile(folder, "gateway.json", json({ origins }));
          hangUp(running);
          await running.printed(/reloaded: /);
          expect((await one.fetch({ path: "/3" })).status).toBe(204);
        } finally {
          await other.close();
        }
        running.kill("SIGTERM");
        expect(await running.exited).toBe(0);
      }));

    test("reads its file again as it changes, where asked to", () =>
      withScene(async ({ folder, origin, run, client }) => {
        const json = (host?: string) => ({
          listen: [{ address: "127.0.0.1:0", cleartext: true }],
          origins: [{ host, origin: `h2c://127.0.0.1:${origin.port}` }],
        });
        const file = await jsonFile(folder, "gateway.json", json());
        const running = run(runtime, "--config", file, "--watch");
        const one = await client(await portOf(running));
        expect((await one.fetch()).status).toBe(200);
        // The first look at a file comes with the start.
        await Bun.sleep(1_200);
        await writeFile(file, JSON.stringify(json("elsewhere.example")));
        await running.printed(/reloaded: /);
        expect((await one.fetch()).status).toBe(421);
      }));
  });
}

/** The programs of a process's group, as the system has them. */
async function programsOf(group: number): Promise<string[]> {
  const programs: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8");
      // Behind the name in parentheses: state, parent, group.
      const [, , pgrp] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(pgrp) === group) programs.push(basename(await readlink(`/proc/${pid}/exe`)));
    } catch {
      // It ended meanwhile.
    }
  }
  return programs;
}

describe("yard gateway", () => {
  test.skipIf(process.platform !== "linux")("is on Deno alone as `deno task yard gateway`", () =>
    withScene(async ({ folder, origin, client }) => {
      const command = [deno, "task", "--quiet", "yard", "gateway", ...cleartext(origin.port)];
      const running = launch(command, { env: { YARDMASTER_HOME: folder } });
      try {
        expect((await (await client(await portOf(running))).fetch()).status).toBe(200);
        expect(new Set(await programsOf(running.pid))).toEqual(new Set([basename(deno)]));
      } finally {
        running.kill("SIGKILL");
      }
    }),
  );

  test("shares a BLOCK between a process on Bun and one on Deno [CG-ACT-6]", () =>
    withScene(async ({ folder, origin, run, client }) => {
      const more = ["--client", "header:x-user", "--fleet", `file:${join(folder, "fleet")}`];
      const processes = [
        run("Bun", ...cleartext(origin.port), ...more),
        run("Deno", ...cleartext(origin.port), ...more),
      ];
      const ports = await Promise.all(processes.map((running) => portOf(running)));
      const [one, two] = await Promise.all(ports.map(client));
      const ask = (through: RawClient | undefined, path: string) =>
        through?.fetch({ path, fields: [["x-user", "alice"]] });
      await ask(one, "/one");
      const [request] = origin.requestsFor("/one");
      request?.connection.groupControl("BLOCK", request.group as number, 60);
      await eventually(
        async () => (await ask(two, "/two"))?.status,
        (status) => status === 429,
        2_000,
      );
      for (const running of processes) running.kill("SIGTERM");
      expect(await Promise.all(processes.map(({ exited }) => exited))).toEqual([0, 0]);
    }));

  test("names every wrong option, and neither does more nor shows a password", async () => {
    const run = await yard([
      ...["gateway", "--listen", "nowhere", "--origin", "ftp://a", "--client", "cookie"],
      ...["--fleet", "redish://user:secret@store"],
    ]);
    expect(run.status).toBe(2);
    for (const option of ["listen", "origin", "client", "fleet"]) {
      expect(run.stderr).toMatch(new RegExp(`--${option}: has to be `));
    }
    expect(run.stderr).not.toContain("secret");
  });

  test("goes by a file or by options", async () => {
    const neither = await yard(["gateway"]);
    expect(neither.status).toBe(2);
    expect(neither.stderr).toContain("option --config or --origin is missing");
    const both = await yard(["gateway", "--config", "g.json", "--origin", "https://a"]);
    expect(both.status).toBe(2);
    expect(both.stderr).toContain("--config says it all: drop --origin");
    const missing = await yard(["gateway", "--config", "none.json"]);
    expect(missing.status).toBe(1);
    expect(missing.stderr).toMatch(/none\.json: .*no such file/);
  });

  test("says which log it cannot write, and why", () =>
    inFolder(async (folder) => {
      const log = join(folder, "nowhere", "access.log");
      const run = await yard([
        ...["gateway", "--listen-cleartext", "127.0.0.1:0", "--origin", "h2c://a:1"],
        ...["--access-log", log],
      ]);
      expect(run.status).toBe(1);
      expect(run.stderr).toBe(
        `yard gateway: accessLog: ${log}: its folder does not exist (LOG_FAILED)\n`,
      );
    }));

  test("says that an admin port beyond the loopback needs a token", async () => {
    const run = await yard(["gateway", "--origin", "h2c://a:1", "--admin", "0.0.0.0:9901"]);
    expect(run.status).toBe(2);
    expect(run.stderr).toContain(
      "--admin (its token needs a configuration file): " +
        "only an address of the loopback does without a token",
    );
  });

  test("says what port it cannot have", () =>
    withScene(async ({ origin }) => {
      const address = `127.0.0.1:${origin.port}`;
      const run = await yard(["gateway", "--listen-cleartext", address, "--origin", "h2c://a:1"]);
      expect(run.status).toBe(1);
      expect(run.stderr).toContain(`listen: ${address}: `);
    }));
});
