/**
 * What `yard gateway` says when it runs: where it listens, what it trusts, how to try it.
 *
 * @module
 */

import { relative } from "node:path";
import process from "node:process";
import type {
  ClientRule,
  Gateway,
  GatewayConfig,
  GatewayView,
  OriginConfig,
} from "../gateway/mod.ts";
import { resultStyle } from "./terminal.ts";

/** @param certificates directory of certificates for development */
export function gatewayLines(
  config: GatewayConfig,
  running: Pick<Gateway, "urls" | "adminUrl" | "developmentCertificate" | "view">,
  certificates: string,
): readonly string[] {
  const style = resultStyle();
  const { urls, adminUrl, developmentCertificate } = running;
  const pem = relative(".", `${certificates}/development-certificate.pem`);
  return [
    ...urls.map((url) => `gateway at ${style.bold(url)}`),
    ...(developmentCertificate === undefined
      ? []
      : [
          `  with a certificate for development, ${pem}:`,
          "  programs and browsers trust it only where they are told to",
        ]),
    ...config.origins.map((origin) => originLine(origin, config.origins.length === 1)),
    clientLine(config.client),
    ...fleetLines(running.view().fleet),
    ...(adminUrl === undefined ? [] : [`page at ${style.bold(`${adminUrl}/`)}`]),
    // npm and other launchers do not pass SIGHUP on, so it has to go to this process.
    `reload with kill -HUP ${process.pid}, end in order with kill -TERM ${process.pid}`,
    ...urls.slice(0, 1).map((url) => {
      const trust = developmentCertificate === undefined ? "" : `--cacert ${pem} `;
      return `try it: curl ${url.startsWith("https:") ? trust : "--http2-prior-knowledge "}${url}/`;
    }),
  ];
}

function originLine({ host, scheme, hostname, port, ca }: OriginConfig, isOnly: boolean): string {
  const name = hostname.includes(":") ? `[${hostname}]` : hostname;
  const url = `${scheme === "https" ? "https" : "h2c"}://${name}:${port}`;
  const trust =
    scheme === "http"
      ? "in cleartext"
      : ca === undefined
        ? "trusting the authorities of the runtime"
        : "trusting the authorities of its file alone";
  return `requests for ${host ?? (isOnly ? "any host" : "any other host")} go to ${url}, ${trust}`;
}

function fleetLines(fleet: GatewayView["fleet"]): readonly string[] {
  if (fleet === undefined) return [];
  if (fleet.fault === undefined) return ["BLOCK and LIMIT are shared with other processes"];
  return [
    `the store of the fleet is lost: ${fleet.fault}`,
    "  BLOCK and LIMIT hold in this process alone until it answers",
  ];
}

function clientLine(rule: ClientRule): string {
  switch (rule.by) {
    case "connection":
      return "each connection is a client of its own";
    case "header":
      return `a client is the value of ${rule.name}: whatever is in front has to set it, and remove what clients send`;
    case "jwt-sub":
      return "a client is the subject of the token in Authorization, once it is verified";
  }
}
