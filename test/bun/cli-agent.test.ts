/** Operators' commands against `yard agent`, and on the store where none runs: real processes. */

import { describe, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createOperatorKey } from "../../src/cli/people.ts";
import { developmentCertificate } from "../../src/quic/development-certificate.ts";
import { signReport } from "../../src/report/mod.ts";
import { importSigningKey } from "../../src/snapshot/mod.ts";
import { type AgentBed, pool, timeless, withBed } from "./cli-agent-bed.ts";
import { jsonFile, yard } from "./cli-harness.ts";
import { launch, root } from "./processes.ts";

/** What `yard ARGS` prints, which has to work. */
async function done(bed: AgentBed, ...args: string[]): Promise<string> {
  const run = await bed.yard(args);
  expect({ args, ...run }).toMatchObject({ args, status: 0 });
  return run.stdout;
}

/** Expects `yard ARGS` to end with `status` and to print exactly `stderr`, and nothing else. */
async function refused(bed: AgentBed, status: number, stderr: string, ...args: string[]) {
  const run = await bed.yard(args);
  expect({ args, ...run }).toMatchObject({ args, status, stdout: "" });
  if (status === 2) expect(run.stderr.split("\n")[0]).toBe(stderr);
  else expect(run.stderr).toBe(`${stderr}\n`);
}

/** A requirement as messages name it. */
const rule = (id: string) => `[${id}]`;

const history = `VERSION  SIGNED AT                WHAT             BY             PROOF   REASON
7        2026-11-05 12:00:00 UTC  rollback to 2    ada            signed  too much
         relay relay.2d2: healthy is now draining
         route example.2ecom: weight of r1 3 is now 1
6        2026-11-05 12:00:00 UTC  undrain          ada            signed  -
         relay relay.2d2: draining is now healthy
5        2026-11-05 12:00:00 UTC  health override  ada            signed  -
         relay r1: unhealthy is now healthy
4        2026-11-05 12:00:00 UTC  health override  ada            signed  -
         relay r1: healthy is now unhealthy
3        2026-11-05 12:00:00 UTC  weight           ada            signed  -
         route example.2ecom: weight of r1 1 is now 3
2        2026-11-05 12:00:00 UTC  drain            ada            signed  disk
         relay relay.2d2: healthy is now draining
1        2026-11-05 12:00:00 UTC  first version    agent agent-1  -       -
`;

describe("yard, where an agent runs", () => {
  test("does what operators ask, signed, and tells how it came [LB-ROT-4] [LB-ROT-5] [LB-RESIZE-6]", () =>
    withBed(async (bed) => {
      const { url } = await bed.agent();
      const drained = await bed.yard(["drain", "relay.2d2", "--reason", "disk"]);
      const stderr = `published at ${url}\n`;
      expect(drained).toMatchObject({ status: 0, stdout: "version 2\n", stderr });
      const weight = ["weight", "hex:7231", "3", "--prefix", "example.2ecom"];
      expect(await done(bed, ...weight)).toBe("version 3\n");
      expect(await done(bed, "health", "r1", "unhealthy")).toBe("version 4\n");
      expect(await done(bed, "health", "r1", "auto")).toBe("version 5\n");
      expect(await done(bed, "undrain", "relay.2d2")).toBe("version 6\n");
      expect(await done(bed, "rollback", "--to", "2", "--reason", "too much")).toBe("version 7\n");
      expect(timeless(await done(bed, "history"))).toBe(history);
      const some = JSON.parse(
        await done(bed, "history", "--limit", "2", "--before", "4", "--json"),
      );
      expect(some.map(({ version }: { version: number }) => version)).toEqual([3, 2]);
      expect(some[0].action.split(".")).toHaveLength(3);
      expect(await done(bed, "diff", "2", "7", "--json")).toBe(
        `${JSON.stringify({ from: "version 2", to: "version 7", changes: [] }, null, 2)}\n`,
      );
      // What an operator drained stays so when the pool is published.
      const one = { ...pool, routes: [{ ...pool.routes[0], rids: ["r1"] }] };
      const file = await jsonFile(bed.folder, "one.json", one);
      const route = "route example.2ecom";
      expect(await done(bed, "diff", "current", file)).toBe(`${route}: relay.2d2 removed\n`);
      expect(await done(bed, "simulate", "--to", file, "--keys", "100")).toContain(
        "\nmoved: 0 of 100 keys, 0.0 %\n",
      );
    }));

  test("shows who follows and what is measured, and nothing but text without a terminal [LB-CONF-24]", () =>
    withBed(async (bed) => {
      const { url } = await bed.agent();
      await done(bed, "drain", "relay.2d2");
      // The shares are measured beside the first answers.
      let output = "";
      while (!output.includes("measured")) output = await done(bed, "status");
      expect(timeless(output)).toBe(`agent    publishing, at ${url}
version  2 (drain)
signed   2026-11-05 12:00:00 UTC, 0 s ago
routes   1 hashed, 0 static
relays   2: 1 healthy, 1 draining
shares   measured with 10000 keys

RELAY      HEALTH    WEIGHT  SHARE    EXPECTED  PROBE  URI                     WHY
r1         healthy   1       100.0 %  100.0 %   -      https://r1.example/moq
relay.2d2  draining  1       0.0 %    0.0 %     -      https://r2.example/moq  drained by an operator

   INSTANCE  STATE  VERSION  AGE  REPORTED  MODE  SESSIONS
!  edge-1    never  -        -    -         -     -
`);
      const json = JSON.parse(await done(bed, "status", "--json"));
      expect(json).toMatchObject({ role: "publishing", current: { version: 2, cause: "drain" } });
    }));

  test("logs that an instance is ahead, and that it is no more [LB-SEC-9]", () =>
    withBed(async (bed) => {
      const { url, process: agent } = await bed.agent();
      const key = await importSigningKey(
        await Bun.file(join(bed.home.directory, "keys", "instance-edge-1.jwk")).json(),
      );
      let sequence = 0;
      const report = async (activeVersion: number) => {
        const at = Date.now();
        const body = await signReport(
          {
            instanceId: "edge-1",
            sequence: ++sequence,
            at,
            startedAt: 1,
            activeVersion,
            ageSeconds: 0,
            mode: "redirect",
            stale: false,
            health: [],
            decisions: {},
          },
          key,
        );
        const { status } = await fetch(`${url}/v1/reports`, { method: "POST", body });
        expect(status).toBe(200);
      };
      await report(9);
      await agent.printed(/"event":"alarm","code":"INSTANCE_AHEAD","message":"[^"]*: edge-1"/);
      await report(1);
      await agent.printed(/"event":"alarm-over","code":"INSTANCE_AHEAD"/);
      expect(agent.output().match(/"event":"alarm","code":"INSTANCE_AHEAD"/g)).toHaveLength(1);
    }));

  test("tells refusals in one line with their code, with exit status 1, or 2 for a wrong line", () =>
    withBed(async (bed) => {
      await bed.agent();
      await done(bed, "drain", "r1");
      const cases: [status: number, stderr: string, ...args: string[]][] = [
        [1, "yard drain: nothing to change: it is draining already (NO_CHANGE)", "drain", "r1"],
        [
          1,
          "yard drain: the pool has no relay with the RID 7239 (hexadecimal) (UNKNOWN_RELAY)",
          "drain",
          "r9",
        ],
        [
          1,
          'RID "relay-2": expected one field, without "-"\nperhaps you mean: relay.2d2',
          "drain",
          "relay-2",
        ],
        [1, 'RID "hex:7": expected two hexadecimal digits for each byte', "undrain", "hex:7"],
        [
          1,
          "yard rollback: the history has no such version (UNKNOWN_VERSION)",
          "rollback",
          "--to",
          "9",
        ],
        [2, "yard rollback: option --to is missing: which version?", "rollback"],
        [
          2,
          "yard rollback: option --to has to be an integer in 0..2^53-1",
          "rollback",
          "--to",
          "x",
        ],
        [2, "yard weight: WEIGHT has to be an integer in 0..16", "weight", "r1", "17"],
        [2, "yard health: HEALTH has to be one of healthy, unhealthy, auto", "health", "r1", "ok"],
        [2, "yard weight: missing argument WEIGHT", "weight", "r1"],
        [
          2,
          "yard drain: option --reason has to be a text of at most 500 characters",
          "drain",
          "r1",
          "--reason",
          "x".repeat(501),
        ],
      ];
      for (const [status, stderr, ...args] of cases) await refused(bed, status, stderr, ...args);
      const last = JSON.parse(await done(bed, "history", "--limit", "1", "--json"));
      expect(last[0].version).toBe(2);
    }));

  test("does not let an operator do more than the role allows, nor anybody else [LB-SEC-6]", () =>
    withBed(async (bed) => {
      await bed.agent();
      const forbidden = `needs the role routes ${rule("LB-SEC-6")} (FORBIDDEN)`;
      await refused(
        bed,
        1,
        `yard publish: publish ${forbidden}`,
        "publish",
        bed.poolFile,
        "--next",
      );
      await refused(bed, 1, `yard rollback: rollback ${forbidden}`, "rollback", "--to", "1");
      expect(await done(bed, "drain", "r1")).toBe("version 2\n");
      const files = { ...bed.home.keys, lists: bed.home.directory };
      await createOperatorKey(files, { name: "ada", roles: ["routes"] }, true);
      const run = await bed.yard(["undrain", "r1"]);
      expect(run).toMatchObject({ status: 1, stdout: "" });
      expect(run.stderr).toEndWith("(UNAUTHENTICATED)\n");
    }, "pool"));

  test("publishes through the agent, a file of before not by mistake [LB-ROT-3] [LB-CONF-16]", () =>
    withBed(async (bed) => {
      const { url } = await bed.agent();
      const larger = {
        ...pool,
        relays: [...pool.relays, { rid: "r3", uri: "https://r3.example/moq", probe: "none" }],
      };
      const file = await jsonFile(bed.folder, "larger.json", larger);
      const run = await bed.yard(["publish", file, "--reason", "a third relay"]);
      expect(run.status).toBe(0);
      expect(run.stdout).toMatch(/^version 2\ndigest {2}[0-9a-f]{64}\nkid {5}\S+\n$/);
      const old = await jsonFile(bed.folder, "old.json", { ...pool, version: 2 });
      await refused(
        bed,
        1,
        `${old}: version: 2 is not above 2, the current version of ${url} ${rule("LB-ROT-3")}; raise it, or take the next one with --next`,
        "publish",
        old,
      );
      expect(await done(bed, "publish", old, "--next")).toStartWith("version 3\n");
      const broken = await jsonFile(bed.folder, "broken.json", {
        relays: [{ rid: "r1", uri: "nowhere", probe: "ping" }],
        routes: [{ prefix: ["a"], kind: "static", rid: "r9" }],
      });
      const problems = await bed.yard(["publish", broken]);
      expect(problems).toMatchObject({ status: 1, stdout: "" });
      const lines = problems.stderr.trimEnd().split("\n");
      expect(lines.map((line) => line.split(": ")[1])).toEqual([
        "relays[0].uri",
        "routes[0].rid",
        "relays[0].probe",
      ]);
    }));

  test("signs anew where the agent has moved on meanwhile [LB-SEC-7]", () =>
    withBed(async (bed) => {
      const { url } = await bed.agent();
      const other = await bed.client(url);
      let posts = 0;
      const before = Bun.serve({
        port: 0,
        async fetch(request) {
          const path = new URL(request.url).pathname;
          if (request.method === "POST" && ++posts === 1) {
            await other.act({ type: "drain", rid: "7231" }, "before you");
          }
          const body = request.method === "POST" ? await request.text() : null;
          return fetch(`${url}${path}`, { method: request.method, headers: request.headers, body });
        },
      });
      try {
        const run = await bed.yard([
          "drain",
          "relay.2d2",
          "--agent",
          `http://localhost:${before.port}`,
        ]);
        expect(run).toMatchObject({ status: 0, stdout: "version 3\n" });
        expect(posts).toBe(2);
      } finally {
        await before.stop(true);
      }
    }));

  test("prints a link that signs a browser in once, and finds the agent by YARDMASTER_AGENT", () =>
    withBed(async (bed) => {
      const { url } = await bed.agent();
      const run = await bed.yard(["login"], { env: { YARDMASTER_AGENT: url } });
      expect(run.status).toBe(0);
      const link = run.stdout.trim();
      expect(link).toStartWith(`${url}/login?token=`);
      expect((await fetch(link)).status).toBe(200);
      const token = new URL(link).searchParams.get("token") ?? "";
      const signIn = () =>
        fetch(`${url}/login`, {
          method: "POST",
          body: new URLSearchParams({ token, next: "/" }),
          headers: { origin: url },
          redirect: "manual",
        });
      expect((await signIn()).headers.get("set-cookie")).toStartWith("yardmaster=");
      expect((await signIn()).headers.get("set-cookie")).toBeNull();
    }));

  test("tells in one line that no agent answers at the address, or something else does", () =>
    withBed(async (bed) => {
      const web = Bun.serve({ port: 0, fetch: () => new Response("<html>") });
      const url = `http://127.0.0.1:${web.port}`;
      try {
        await refused(
          bed,
          1,
          `yard status: ${url} does not answer like an agent: HTTP status 200 (NO_AGENT)`,
          "status",
          "--agent",
          url,
        );
      } finally {
        await web.stop(true);
      }
      const gone = await bed.yard(["status", "--agent", url]);
      expect(gone).toMatchObject({ status: 1, stdout: "" });
      expect(gone.stderr).toMatch(/^yard status: \S+: no answer: .* \(UNREACHABLE\)\n$/);
      await refused(
        bed,
        2,
        "yard status: the address of an agent has to be https://HOST[:PORT][/PATH]; http only on the loopback",
        "status",
        "--agent",
        "http://agent.example",
      );
    }));

  test("trusts a private authority with --ca, and no certificate without [LB-CONF-18]", () =>
    withBed(async (bed) => {
      await developmentCertificate({ directory: bed.folder });
      const cert = join(bed.folder, "development-certificate.pem");
      const files = { certificate: "development-certificate.pem", key: "development-key.pem" };
      const { url } = await bed.agent({ listen: { port: 0, ...files } });
      expect(url).toStartWith("https://");
      const trusted = await bed.yard(["status", "--agent", url, "--ca", cert]);
      expect(trusted).toMatchObject({ status: 0, stderr: "" });
      const distrusted = await bed.yard(["status", "--agent", url]);
      expect(distrusted).toMatchObject({ status: 1, stdout: "" });
      expect(distrusted.stderr).toEndWith("(UNREACHABLE)\n");
      await refused(
        bed,
        1,
        `${bed.poolFile}: there is no certificate in PEM form in it`,
        "status",
        "--agent",
        url,
        "--ca",
        bed.poolFile,
      );
    }));

  test("watches until it is told to stop, a line of JSON each time or a table", () =>
    withBed(async (bed) => {
      await bed.agent();
      const entry = join(root, "src", "cli", "yard.ts");
      const watch = (...args: string[]) =>
        launch([
          process.execPath,
          entry,
          "status",
          "--watch",
          "--home",
          bed.home.directory,
          ...args,
        ]);
      const [lines, tables] = [watch("--json"), watch()];
      await lines.printed(/^\{.*\}\n\{.*\}\n/);
      await tables.printed(
        /agent {4}publishing[\s\S]*\n\n\nagent|never[\s\S]*\nagent {4}publishing/,
      );
      for (const process of [lines, tables]) {
        process.kill("SIGINT");
        expect(await process.exited).toBe(0);
      }
      expect(tables.output()).not.toContain("\u001b");
    }));
});

describe("yard, where no agent runs", () => {
  test("works on the store itself, signed by the operator of the home [LB-ROT-5] [LB-RESIZE-6]", () =>
    withBed(async (bed) => {
      const { directory } = bed.home;
      expect(await done(bed, "publish", bed.poolFile)).toStartWith("version 1\n");
      const drained = await bed.yard(["drain", "r1", "--reason", "rack", "--json"]);
      expect(drained.status).toBe(0);
      expect(JSON.parse(drained.stdout)).toMatchObject({ version: 2, cause: "drain" });
      expect(await done(bed, "rollback", "--to", "1")).toBe("version 3\n");
      expect(timeless(await done(bed, "status"))).toBe(`store    ${directory}, read without an agent
version  3 (rollback)
signed   2026-11-05 12:00:00 UTC, 0 s ago
routes   1 hashed, 0 static
relays   2: 2 healthy
shares   measured with 10000 keys

RELAY      HEALTH   WEIGHT  SHARE   EXPECTED  PROBE  URI                     WHY
r1         healthy  1       49.8 %  50.0 %    -      https://r1.example/moq
relay.2d2  healthy  1       50.2 %  50.0 %    -      https://r2.example/moq
`);
      expect(timeless(await done(bed, "history", "--limit", "2"))).toBe(
        `VERSION  SIGNED AT                WHAT           BY   PROOF   REASON
3        2026-11-05 12:00:00 UTC  rollback to 1  ada  signed  -
         relay r1: draining is now healthy
2        2026-11-05 12:00:00 UTC  drain          ada  signed  rack
         relay r1: healthy is now draining
`,
      );
    }));

  test("begins above every version that a lost store had, where the file says so [LB-ROT-3]", () =>
    withBed(async (bed) => {
      const file = await jsonFile(bed.folder, "again.json", { ...pool, version: 1000 });
      expect(await done(bed, "publish", file)).toStartWith("version 1000\n");
      const { process } = await bed.agent();
      expect(await done(bed, "drain", "r1")).toBe("version 1001\n");
      process.kill("SIGTERM");
      expect(await process.exited).toBe(0);
      expect(await done(bed, "publish", bed.poolFile, "--reason", "as it was")).toStartWith(
        "version 1002\n",
      );
      const [entry] = JSON.parse(await done(bed, "history", "--limit", "1", "--json"));
      const signed = { name: "ada", reason: "as it was", signed: true };
      expect(entry).toMatchObject({ agentId: "yard", cause: "publish", operator: signed });
    }));

  test("rolls nothing back that no operator signed, and says what is missing [LB-ROT-5]", () =>
    withBed(async (bed) => {
      const { directory, keys } = bed.home;
      await rm(join(keys.directory, "operator.jwk"));
      await done(bed, "publish", bed.poolFile);
      expect(await done(bed, "drain", "r1")).toBe("version 2\n");
      await refused(
        bed,
        1,
        `${directory}: rollback needs the operator's own signature ${rule("LB-ROT-5")} (SIGNATURE_REQUIRED); yard keygen --operator NAME makes a key for that`,
        "rollback",
        "--to",
        "1",
      );
      await refused(
        bed,
        1,
        `${directory}: the history has no version 9 (UNKNOWN_VERSION)`,
        "diff",
        "1",
        "9",
      );
      await refused(
        bed,
        2,
        `yard login: no agent publishes from the store of ${directory}; name one with --agent`,
        "login",
      );
      const { url } = await bed.agent();
      await refused(
        bed,
        1,
        `${join(keys.directory, "operator.jwk")}: no such file; yard keygen --operator NAME creates it`,
        "status",
        "--agent",
        url,
      );
      const beside = await bed.yard(["drain", "relay.2d2"]);
      expect(beside).toMatchObject({ status: 1, stdout: "" });
      expect(beside.stderr).toBe(
        `${directory}: the agent agent-1 at ${url} publishes from this store (NOT_PUBLISHING); it does what operators sign: yard keygen --operator NAME makes a key\n`,
      );
    }));

  test(
    "takes over from an agent that was killed, once its lease has run out",
    () =>
      withBed(async (bed) => {
        const { url, process } = await bed.agent();
        process.kill("SIGKILL");
        await process.exited;
        const run = await bed.yard(["drain", "r1"]);
        expect(run).toMatchObject({ status: 0, stdout: "version 2\n" });
        const [note, published] = run.stderr.split("\n");
        expect(note).toStartWith(`note: ${url}: no answer: `);
        expect(note).toEndWith(`; working on the store of ${bed.home.directory} itself`);
        expect(published).toBe(`published at ${bed.home.directory}`);
      }),
    60_000,
  );
});

describe("yard agent", () => {
  test("lists every mistake of its configuration, and starts nothing", () =>
    withBed(async (bed) => {
      const file = await jsonFile(bed.folder, "wrong.json", {
        agentId: "",
        maximumAge: -1,
        poool: "x",
      });
      const run = await yard(["agent", "--config", file]);
      expect(run).toMatchObject({ status: 1, stdout: "" });
      const lines = run.stderr.trimEnd().split("\n");
      expect(lines.every((line) => line.startsWith(`${file}: `))).toBe(true);
      for (const key of ["agentId", "maximumAge", "poool", "signingKey", "store", "pool"]) {
        expect(lines.some((line) => line.startsWith(`${file}: ${key}: `))).toBe(true);
      }
      const none = await yard(["agent"]);
      expect(none).toMatchObject({ status: 2, stdout: "" });
      expect(none.stderr).toStartWith("yard agent: option --config is missing\n");
    }));

  test("ends with SIGTERM and releases its lease, so that the next one need not wait", () =>
    withBed(async (bed) => {
      const { process } = await bed.agent();
      process.kill("SIGTERM");
      expect(await process.exited).toBe(0);
      const run = await bed.yard(["drain", "r1"]);
      expect(run).toMatchObject({ status: 0, stderr: `published at ${bed.home.directory}\n` });
    }));
});
