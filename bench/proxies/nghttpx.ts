import { program, programMissing, type ReverseProxy } from "./proxy.ts";

/** nghttpx of nghttp2; one worker, as by default. */
export const nghttpx: ReverseProxy = {
  name: "nghttpx",
  missing: () => programMissing("nghttpx"),
  launch: ({ port, certificate, key, origin }) => ({
    command: [
      program("nghttpx") as string,
      "--conf=/dev/null",
      "--log-level=WARN",
      `--frontend=127.0.0.1,${port}`,
      `--backend=127.0.0.1,${origin.port};;proto=h2${origin.scheme === "https" ? ";tls;sni=localhost" : ""}`,
      `--cacert=${certificate}`,
      "--no-ocsp",
      key,
      certificate,
    ],
  }),
};
