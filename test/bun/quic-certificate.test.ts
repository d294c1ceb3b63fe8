/** Certificates: development ones, PEM files, and files that change. */

import { describe, expect, test } from "bun:test";
import { createHash, X509Certificate } from "node:crypto";
import { readdirSync, renameSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Certificate,
  certificateHash,
  developmentCertificate,
  loadCertificate,
  type QuicError,
  watchCertificate,
} from "../../src/quic/mod.ts";
import { bun, root, withDirectory } from "./processes.ts";

const DAY = 24 * 60 * 60 * 1000;

describe("a development certificate", () => {
  test("is one that browsers accept by hash: ECDSA P-256, valid for less than 14 days", async () => {
    const made = await developmentCertificate();
    const leaf = new X509Certificate(made.certificatePem);
    expect(leaf.publicKey.asymmetricKeyType).toBe("ec");
    expect(leaf.publicKey.asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
    const from = new Date(leaf.validFrom).getTime();
    const to = new Date(leaf.validTo).getTime();
    expect(to - from).toBeLessThan(14 * DAY);
    expect(from).toBeLessThan(Date.now());
    expect(to).toBe(made.validTo.getTime());
    for (const name of ["127.0.0.1", "::1"]) expect(leaf.checkIP(name)).toBeDefined();
    expect(leaf.checkHost("localhost")).toBeDefined();
    expect(leaf.checkHost("example.com")).toBeUndefined();
  });

  test("comes with the hash of its DER", async () => {
    const made = await developmentCertificate({ names: ["relay.test"] });
    const leaf = new X509Certificate(made.certificatePem);
    const hash = createHash("sha256").update(leaf.raw).digest();
    expect(Buffer.from(made.hash).equals(hash)).toBe(true);
    expect(made.hashHex).toBe(hash.toString("hex"));
    expect(made.hashBase64).toBe(hash.toString("base64"));
    expect(certificateHash(made)).toEqual(made.hash);
    expect(leaf.checkHost("relay.test")).toBeDefined();
  });

  test("is kept, with a key for the owner's eyes, while it is valid and has the names", () =>
    withDirectory(async (directory) => {
      const keep = (now: Date, names?: string[]) =>
        developmentCertificate({ directory, now, ...(names === undefined ? {} : { names }) });
      const today = new Date();
      const first = await keep(today);
      const mode = statSync(join(directory, "development-key.pem")).mode & 0o777;
      expect(mode).toBe(0o600);
      expect((await keep(new Date(today.getTime() + 10 * DAY))).hashHex).toBe(first.hashHex);
      const renewed = await keep(new Date(today.getTime() + 12 * DAY));
      expect(renewed.hashHex).not.toBe(first.hashHex);
      const renamed = await keep(new Date(today.getTime() + 12 * DAY), ["other.test"]);
      expect(renamed.hashHex).not.toBe(renewed.hashHex);
    }));

  test("is the same for every process that wants one in a directory at once", () =>
    withDirectory(async (directory) => {
      const program = `
        import { developmentCertificate } from "${root}/src/quic/mod.ts";
        process.stdout.write("ready\\n");
        for await (const _ of process.stdin) break;
        const { hashHex } = await developmentCertificate({ directory: process.argv[1] });
        process.stdout.write(hashHex);`;
      for (const kept of [undefined, new Date(Date.now() - 12 * DAY)]) {
        const own = join(directory, String(kept === undefined));
        // There is none at first; the second time there is one that is about to expire.
        if (kept !== undefined) await developmentCertificate({ directory: own, now: kept });
        const processes = Array.from({ length: 6 }, () =>
          Bun.spawn([bun, "-e", program, own], { cwd: root, stdin: "pipe", stdout: "pipe" }),
        );
        const outputs = processes.map((process) => process.stdout.getReader());
        await Promise.all(outputs.map((output) => output.read()));
        for (const { stdin } of processes) {
          stdin.write("go\n");
          void stdin.end();
        }
        const hashes = await Promise.all(
          outputs.map(async (output) => Buffer.from((await output.read()).value ?? []).toString()),
        );
        expect(new Set(hashes)).toEqual(
          new Set([(await developmentCertificate({ directory: own })).hashHex]),
        );
        expect(readdirSync(own).sort()).toEqual([
          "development-certificate.pem",
          "development-key.pem",
        ]);
      }
    }));

  test("does not wait for a process that died on the way", () =>
    withDirectory(async (directory) => {
      const lock = join(directory, "development-certificate.lock");
      writeFileSync(lock, "");
      const aWhileAgo = new Date(Date.now() - 60_000);
      utimesSync(lock, aWhileAgo, aWhileAgo);
      const { hashHex } = await developmentCertificate({ directory });
      expect((await developmentCertificate({ directory })).hashHex).toBe(hashHex);
    }));

  test("that cannot be kept is an error that says where", () =>
    withDirectory(async (directory) => {
      const file = join(directory, "file");
      writeFileSync(file, "");
      const refused = developmentCertificate({ directory: file });
      await expect(refused).rejects.toMatchObject({ code: "INVALID_CERTIFICATE" });
      await expect(refused).rejects.toThrow(`kept in ${file}`);
    }));

  test("replaces half of one that a crash has left", () =>
    withDirectory(async (directory) => {
      const first = await developmentCertificate({ directory });
      const other = await developmentCertificate();
      writeFileSync(join(directory, "development-key.pem"), other.keyPem);
      const second = await developmentCertificate({ directory });
      expect(second.hashHex).not.toBe(first.hashHex);
      expect((await developmentCertificate({ directory })).hashHex).toBe(second.hashHex);
    }));
});

describe("a certificate from files", () => {
  test("is refused with a reason where it cannot serve", () =>
    withDirectory(async (directory) => {
      const made = await developmentCertificate();
      const other = await developmentCertificate();
      const files = write(directory, made);
      expect(await loadCertificate(files)).toEqual({
        certificatePem: made.certificatePem,
        keyPem: made.keyPem,
      });
      const refused = async (certificatePem: string, keyPem: string) => {
        write(directory, { certificatePem, keyPem });
        const error = await loadCertificate(files).catch((reason: QuicError) => reason);
        expect((error as QuicError).code).toBe("INVALID_CERTIFICATE");
        return (error as QuicError).message;
      };
      expect(await refused(made.certificatePem, other.keyPem)).toContain("not that of");
      expect(await refused("nothing", made.keyPem)).toContain("certificate is not PEM");
      expect(await refused(made.certificatePem, "nothing")).toContain("key is not PEM");
      const missing = { ...files, key: join(directory, "missing.pem") };
      expect(loadCertificate(missing)).rejects.toMatchObject({ code: "INVALID_CERTIFICATE" });
    }));

  test("is told again when its files change, and kept while they are broken", () =>
    withDirectory(async (directory) => {
      const [first, second, third] = await Promise.all(
        [1, 2, 3].map(() => developmentCertificate()),
      );
      const files = write(directory, first as Certificate);
      const told: string[] = [];
      let tell: () => void = () => {};
      const next = () =>
        new Promise<void>((resolve) => {
          tell = resolve;
        });
      const watch = watchCertificate(files, {
        interval: 10,
        onChange: (certificate) => {
          told.push(certificate.certificatePem);
          tell();
        },
        onError: (error) => {
          told.push(error.code);
          tell();
        },
      });
      await Bun.sleep(50);
      expect(told).toEqual([]);

      // One file after the other: in between, the two do not match.
      let changed = next();
      writeFileSync(files.certificate, (second as Certificate).certificatePem);
      await changed;
      expect(told).toEqual(["INVALID_CERTIFICATE"]);
      changed = next();
      writeFileSync(files.key, (second as Certificate).keyPem);
      await changed;
      expect(told.at(-1)).toBe((second as Certificate).certificatePem);

      // A link that leads elsewhere, as mounted secrets are replaced.
      const elsewhere = write(directory, third as Certificate, "new-");
      changed = next();
      symlinkSync(elsewhere.key, `${files.key}.link`);
      symlinkSync(elsewhere.certificate, `${files.certificate}.link`);
      renameSync(`${files.key}.link`, files.key);
      renameSync(`${files.certificate}.link`, files.certificate);
      while (told.at(-1) !== (third as Certificate).certificatePem) {
        await changed;
        changed = next();
      }
      watch.close();
      const count = told.length;
      writeFileSync(files.key, "broken");
      await Bun.sleep(50);
      expect(told).toHaveLength(count);
    }));
});

function write(directory: string, certificate: Certificate, prefix = "") {
  const files = {
    certificate: join(directory, `${prefix}chain.pem`),
    key: join(directory, `${prefix}key.pem`),
  };
  writeFileSync(files.certificate, certificate.certificatePem);
  writeFileSync(files.key, certificate.keyPem);
  return files;
}
