import { program, programMissing, type ReverseProxy, versionOf } from "./proxy.ts";

/** nghttpx of nghttp2; one worker, as by default. */
export const nghttpx: ReverseProxy = {
  name: "nghttpx",
  missing: () => programMissing("nghttpx"),
  version: () => versionOf(program("nghttpx") as string, "--version"),
  launch: ({ port, certificate, key, authority, origin }) => ({
    command: [
      program("nghttpx") as string,
      "--conf=/dev/null",
      "--log-level=WARN",
      `--frontend=127.0.0.1,${port}`,
      `--backend=127.0.0.1,${origin.port};;proto=h2${origin.scheme === "https" ? ";tls;sni=localhost" : ""}`,
      `--cacert=${authority}`,
      "--no-ocsp",
      key,
      certificate,
    ],
  }),
};
