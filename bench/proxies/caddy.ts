import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Bed, program, programMissing, type ReverseProxy, versionOf } from "./proxy.ts";

function configuration({ port, certificate, key, authority, origin }: Bed): string {
  const [url, transport] =
    origin.scheme === "https"
      ? [
          `https://127.0.0.1:${origin.port}`,
          `tls_trusted_ca_certs ${authority}\n        tls_server_name localhost\n        versions 2`,
        ]
      : [`h2c://127.0.0.1:${origin.port}`, "versions h2c 2"];
  return `{
  admin off
  auto_https off
}
:${port} {
  bind 127.0.0.1
  tls ${certificate} ${key}
  reverse_proxy ${url} {
    transport http {
        ${transport}
    }
  }
}
`;
}

/** Caddy with its reverse_proxy. */
export const caddy: ReverseProxy = {
  name: "Caddy",
  missing: () => programMissing("caddy"),
  version: () => versionOf(program("caddy") as string, "version"),
  launch(bed) {
    const file = join(bed.directory, "Caddyfile");
    writeFileSync(file, configuration(bed));
    return {
      command: [program("caddy") as string, "run", "--adapter", "caddyfile", "--config", file],
      env: { XDG_DATA_HOME: bed.directory, XDG_CONFIG_HOME: bed.directory, HOME: bed.directory },
    };
  },
};
