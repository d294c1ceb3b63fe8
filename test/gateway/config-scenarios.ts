/** The configuration of a gateway: what is read, and every problem of what cannot be. */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "#test";
import {
  ConfigFileError,
  gatewayConfigOf,
  readGatewayConfig,
} from "../../src/gateway/config-reader.ts";
import { type TestAuthority, testAuthority } from "../support/http2/certificates.ts";

/** A token as a file has it, with the line end that editors add. */
const token = "c2VjcmV0IHRva2VuIG9mIHRoZSBhZG1pbg==";
const jwks = { keys: [{ kty: "OKP", crv: "Ed25519", x: "AAAA", kid: "k1" }] };

interface Files {
  readonly [path: string]: string;
}

async function filesOf(authority: TestAuthority): Promise<Files> {
  const [server, client, other] = await Promise.all([
    authority.server("gateway.example"),
    authority.client("gateway"),
    authority.server("other.example"),
  ]);
  return {
    "/etc/gateway/cert.pem": server.certificatePem,
    "/etc/gateway/key.pem": server.keyPem,
    "/etc/gateway/other-key.pem": other.keyPem,
    "/etc/gateway/client.pem": client.certificatePem,
    "/etc/gateway/client-key.pem": client.keyPem,
    "/etc/gateway/ca.pem": authority.ca,
    "/etc/gateway/jwks.json": JSON.stringify(jwks),
    "/etc/gateway/private.json": JSON.stringify({ keys: [{ ...jwks.keys[0], d: "c2VjcmV0" }] }),
    "/etc/gateway/shapeless.json": JSON.stringify({ keys: [{ kty: "OKP" }] }),
    "/etc/gateway/half-ca.pem": `${authority.ca}-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n`,
    "/etc/gateway/token": `${token}\n`,
    "/etc/gateway/short-token": "secret",
  };
}

/** A whole configuration that is right. */
export const rightConfig = {
  $schema: "./gateway.schema.json",
  listen: [
    { address: "127.0.0.1:8443", certificate: "cert.pem", key: "key.pem" },
    { address: "[::1]:8080", cleartext: true },
  ],
  origins: [
    {
      host: "API.example",
      origin: "https://127.0.0.1:9443",
      ca: "ca.pem",
      serverName: "api.example",
      clientCertificate: { certificate: "client.pem", key: "client-key.pem" },
      clientCertificates: { alice: { certificate: "client.pem", key: "client-key.pem" } },
      tenant: "header:X-Tenant",
      others: { region: "eu" },
    },
    { origin: "h2c://127.0.0.1:9080", tenant: "t1" },
  ],
  client: "header:X-User",
  limits: { queueTime: 2.5, streamsPerConnection: 10 },
  retries: 0,
  earlyData: "refuse",
  blockScope: "origin-key",
  maximumBlock: 600,
  shareUnsupported: false,
  forwarded: "both",
  fleet: "file:fleet",
  admin: { address: "127.0.0.1:9901", token: "token" },
  accessLog: "access.log",
  codePoints: { sharedConnection: 0xf0c7, sharedConnectionPolicy: 0xf0c8, groupControl: 0xf8 },
} as const;

export const smallConfig = {
  listen: [{ address: "127.0.0.1:0", cleartext: true }],
  origins: [{ origin: "h2c://127.0.0.1:9080" }],
} as const;

/** `config` with the member at `path` replaced, or taken away where `value` is undefined. */
export function changed(
  config: unknown,
  path: readonly (string | number)[],
  value: unknown,
): unknown {
  const copy = structuredClone(config);
  let place = copy as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) place = place[key] as typeof place;
  const last = path.at(-1) as string;
  if (value === undefined) delete place[last];
  else place[last] = value;
  return copy;
}

let files: Promise<Files> | undefined;

/** Reads a configuration as if it were in `/etc/gateway`. */
export async function read(json: unknown) {
  files ??= testAuthority().then(filesOf);
  const there = await files;
  return gatewayConfigOf(json, {
    name: "gateway.json",
    directory: "/etc/gateway",
    async readText(path) {
      const text = there[path];
      if (text === undefined) throw new Error(`${path}: no such file`);
      return text;
    },
  });
}

/** The problems of a configuration, as `path: message`. */
async function problemsOf(json: unknown): Promise<string[]> {
  const error = await read(json).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ConfigFileError, "there is a problem");
  return error.problems.map(({ path, message }) => `${path}: ${message}`);
}

/** One fault each, with the path of the problem and what its message says. */
export const faults: readonly (readonly [
  name: string,
  path: readonly (string | number)[],
  value: unknown,
  problem: string,
  says: RegExp,
])[] = [
  ["no ports", ["listen"], undefined, "listen", /missing: at least one port/],
  ["an empty list of ports", ["listen"], [], "listen", /is empty: at least one port/],
  ["a port in place of the list", ["listen"], {}, "listen", /has to be a list: at least one port/],
  ["a host with a port of 99999", ["origins", 0, "host"], "a:99999", "origins[0].host", /:PORT/],
  [
    "header sections of 10 GB",
    ["limits", "headerBytes"],
    1e10,
    "limits.headerBytes",
    /to 16777216/,
  ],
  [
    "clients by their own Client-Group",
    ["client"],
    "header:client-group",
    "client",
    /names no client/,
  ],
  ["clients by Connection", ["client"], "header:connection", "client", /names no client/],
  ["clients by Host", ["client"], "header:host", "client", /names no client/],
  ["no origins", ["origins"], undefined, "origins", /missing: at least one origin/],
  [
    "an address without a port",
    ["listen", 0, "address"],
    "127.0.0.1",
    "listen[0].address",
    /HOST:PORT/,
  ],
  [
    "a port of 70000",
    ["listen", 0, "address"],
    "127.0.0.1:70000",
    "listen[0].address",
    /HOST:PORT/,
  ],
  [
    "a certificate without its key",
    ["listen", 0, "key"],
    undefined,
    "listen[0].key",
    /belong together/,
  ],
  [
    "a cleartext port with a certificate",
    ["listen", 0, "cleartext"],
    true,
    "listen[0].cleartext",
    /one or the other/,
  ],
  [
    "a URL of another scheme",
    ["origins", 0, "origin"],
    "ftp://a",
    "origins[0].origin",
    /h2c:\/\/HOST/,
  ],
  [
    "a URL with a path",
    ["origins", 0, "origin"],
    "https://a/b",
    "origins[0].origin",
    /https:\/\/HOST/,
  ],
  ["trust for cleartext", ["origins", 1, "ca"], "ca.pem", "origins[1].ca", /https alone/],
  ["a host with a path", ["origins", 0, "host"], "a/b", "origins[0].host", /a host name/],
  ["a tenant by no field", ["origins", 0, "tenant"], "header:", "origins[0].tenant", /header:NAME/],
  [
    "a client certificate without key",
    ["origins", 0, "clientCertificate"],
    { certificate: "client.pem" },
    "origins[0].clientCertificate.key",
    /missing/,
  ],
  [
    "another attribute that is no text",
    ["origins", 0, "others"],
    { region: 1 },
    "origins[0].others.region",
    /a text/,
  ],
  ["a client by nothing known", ["client"], "cookie", "client", /"header:NAME"/],
  ["tokens without keys", ["client"], "jwt-sub", "jwt.keys", /missing/],
  ["keys that nobody uses", ["jwt"], { keys: "jwks.json" }, "jwt", /"jwt-sub" alone/],
  [
    "a limit of nothing",
    ["limits", "streamsPerConnection"],
    0,
    "limits.streamsPerConnection",
    /from 1 to/,
  ],
  ["half a request", ["limits", "queuedRequests"], 0.5, "limits.queuedRequests", /whole number/],
  ["two retries", ["retries"], 2, "retries", /from 0 to 1/],
  ["another rule for early data", ["earlyData"], "all", "earlyData", /"safe" or "refuse"/],
  ["a BLOCK of two days", ["maximumBlock"], 172_800, "maximumBlock", /86400/],
  ["a store of another kind", ["fleet"], "postgres://a", "fleet", /redis:\/\/HOST/],
  [
    "an admin port for strangers",
    ["admin"],
    { address: "0.0.0.0:9901" },
    "admin.token",
    /only an address of the loopback/,
  ],
  [
    "a frame type of HTTP/2 itself",
    ["codePoints", "groupControl"],
    1,
    "codePoints",
    /in their ranges/,
  ],
  ["a flag that is a text", ["shareUnsupported"], "yes", "shareUnsupported", /true or false/],
];

export function configScenarios(): void {
  describe("the configuration of a gateway", () => {
    test("is read whole, with the files that it names", async () => {
      const config = await read(rightConfig);
      const [tls, clear] = config.listen;
      assert.deepEqual([tls?.hostname, tls?.port, tls?.cleartext], ["127.0.0.1", 8443, false]);
      assert.match(tls?.certificate?.certificate ?? "", /BEGIN CERTIFICATE/);
      assert.deepEqual([clear?.hostname, clear?.cleartext], ["::1", true]);
      const [api, rest] = config.origins;
      assert.deepEqual([api?.host, api?.scheme, api?.port], ["api.example", "https", 9443]);
      assert.deepEqual([api?.tenant, rest?.tenant], [{ header: "x-tenant" }, { name: "t1" }]);
      assert.match(api?.clientCertificates.get("alice")?.key ?? "", /PRIVATE KEY/);
      assert.deepEqual([rest?.host, rest?.scheme, rest?.port], [undefined, "http", 9080]);
      assert.deepEqual(config.client, { by: "header", name: "x-user" });
      assert.equal(config.limits.queueTime, 2_500);
      assert.equal(config.limits.originIdleTime, 60_000);
      assert.deepEqual([config.retries, config.maximumBlock], [0, 600]);
      assert.equal(config.fleet, "file:/etc/gateway/fleet");
      assert.equal(config.admin?.token, token);
      assert.equal(config.accessLog, "/etc/gateway/access.log");
      assert.equal(config.codePoints.h2.groupControl, 0xf8n);
      assert.ok(config.files.includes("/etc/gateway/cert.pem"));
    });

    test("needs a port and an origin, and no more", async () => {
      const config = await read(smallConfig);
      assert.deepEqual(config.client, { by: "connection" });
      assert.deepEqual(
        [config.retries, config.earlyData, config.blockScope],
        [1, "safe", "origin"],
      );
      assert.equal(config.admin, undefined);
    });

    test("takes clients from tokens, whose keys are in a file", async () => {
      const jwt = { keys: "jwks.json", issuer: "https://id.example" };
      const { client } = await read({ ...smallConfig, client: "jwt-sub", jwt });
      assert.deepEqual(client, { by: "jwt-sub", keys: jwks, issuer: "https://id.example" });
    });

    test("with files of keys and authorities that nothing can come of is refused", async () => {
      const origin = { origin: "https://a.example", ca: "half-ca.pem" };
      const jwt = { keys: "shapeless.json" };
      const problems = await problemsOf({
        ...smallConfig,
        origins: [origin],
        client: "jwt-sub",
        jwt,
      });
      assert.deepEqual(
        problems.map((text) => text.slice(0, 60)),
        [
          "origins[0].ca: certificate 2 in the file cannot be read",
          "jwt.keys: the file cannot be used: keys has no public key fo",
        ],
      );
    });

    for (const [name, path, value, problem, says] of faults) {
      test(`with ${name} is refused, and says where and what was expected`, async () => {
        const problems = await problemsOf(changed(rightConfig, path, value));
        const found = problems.filter((text) => text.startsWith(`${problem}: `));
        assert.equal(found.length, 1, problems.join("\n"));
        assert.match(found[0] as string, says);
      });
    }

    test("has every problem listed at once", async () => {
      const problems = await problemsOf({
        listen: [{ address: "nowhere", certificate: "missing.pem" }],
        origins: [{ origin: "ftp://a" }, {}],
        client: "cookie",
        limit: {},
      });
      assert.deepEqual(
        problems.map((text) => text.slice(0, text.indexOf(": "))).sort(),
        ["client", "limit", "listen[0].address", "listen[0].certificate", "listen[0].key"].concat([
          "origins[0].origin",
          "origins[1].host",
          "origins[1].origin",
        ]),
      );
    });

    test("answers a key that nobody knows with the nearest one", async () => {
      const problems = await problemsOf({ ...smallConfig, orgins: [], limits: { queueTme: 1 } });
      assert.match(
        problems.join("\n"),
        /^limits\.queueTme: unknown key; did you mean queueTime\?/m,
      );
      assert.match(problems.join("\n"), /^orgins: unknown key; did you mean origins\?/m);
    });

    test("has each host and each port once", async () => {
      const origin = { host: "a.example", origin: "https://a.example" };
      const port = { address: "127.0.0.1:8443" };
      const problems = await problemsOf({ listen: [port, port], origins: [origin, origin] });
      assert.deepEqual(problems, [
        "listen[1].address: the same port again",
        "origins[1].host: the host again",
      ]);
    });

    test("never shows what is in keys and tokens", async () => {
      const problems = await problemsOf({
        listen: [{ address: "127.0.0.1:0", certificate: "cert.pem", key: "other-key.pem" }],
        origins: [
          { origin: "https://a", clientCertificate: { certificate: "cert.pem", key: "token" } },
        ],
        client: "jwt-sub",
        jwt: { keys: "private.json" },
        admin: { address: "0.0.0.0:1", token: "short-token" },
        fleet: "redish://user:secret@store",
      });
      const text = problems.join("\n");
      assert.match(text, /listen\[0\]\.key: is not the key of the certificate/);
      assert.match(text, /clientCertificate\.key: the file is no PEM with a private key/);
      assert.match(text, /jwt\.keys: the file has to be a JWK Set of public keys/);
      assert.match(text, /admin\.token: the file has to hold 16 to 256 characters/);
      assert.doesNotMatch(text, /secret|c2VjcmV0|MIG/);
    });

    test("is read with paths relative to its file", async () => {
      const directory = await mkdtemp(join(tmpdir(), "yardmaster-gateway-"));
      try {
        const { certificatePem, keyPem } = await (await testAuthority()).server("localhost");
        await writeFile(join(directory, "c.pem"), certificatePem);
        await writeFile(join(directory, "k.pem"), keyPem);
        const file = join(directory, "gateway.json");
        const listen = [{ address: "127.0.0.1:0", certificate: "c.pem", key: "k.pem" }];
        await writeFile(file, JSON.stringify({ ...smallConfig, listen }));
        const config = await readGatewayConfig(file);
        assert.equal(config.listen[0]?.certificate?.certificate, certificatePem);
        assert.deepEqual(config.files, [file, join(directory, "c.pem"), join(directory, "k.pem")]);
        await writeFile(file, '{ "listen": [ "token-that-is-secret }');
        await assert.rejects(readGatewayConfig(file), (error: Error) => {
          assert.match(error.message, /gateway\.json: not JSON/);
          assert.doesNotMatch(error.message, /secret/);
          return true;
        });
        await assert.rejects(readGatewayConfig(join(directory, "none.json")), /no such file/);
      } finally {
        await rm(directory, { recursive: true });
      }
    });
  });
}
