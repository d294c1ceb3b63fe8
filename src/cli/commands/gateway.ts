import { join } from "node:path";
import process from "node:process";
import { messageOf } from "../../errors.ts";
import { createGateway, type Gateway, type GatewayConfig } from "../../gateway/mod.ts";
import { watchFiles } from "../../store/watch-file.ts";
import { command } from "../command.ts";
import { exitStatus } from "../errors.ts";
import { gatewayLines } from "../gateway-lines.ts";
import { type GatewayValues, gatewayOptions, readGatewayOptions } from "../gateway-options.ts";
import { defaultHome } from "../home.ts";
import { tell } from "../terminal.ts";

/** A terminal sends Ctrl-C to a launcher too, which passes it on: the two are one, in milliseconds. */
const SAME_SIGNAL = 500;

/** `yard gateway`: shared connections to origins, behind ports for clients. */
export const gateway = command({
  name: "gateway",
  summary: "share connections to HTTP/2 origins among clients, and obey GROUP_CONTROL",
  args: {
    ...gatewayOptions,
    watch: { type: "boolean", description: "read the configuration again when a file changes" },
  },
  details: [
    "SIGHUP reads the configuration again and opens the log anew; a configuration with mistakes\n" +
      "changes nothing. SIGTERM or Ctrl-C ends in order: clients are told to go, requests in progress\n" +
      "are finished for up to 30 seconds (limits.drainTime). A second one ends at once.",
    "docs/gateway.schema.json describes the configuration file; README.md explains it.",
  ],
  examples: [
    "gateway --origin https://127.0.0.1:9443 --origin-ca .yardmaster/origin/certificate.pem",
    "gateway --listen-cleartext 127.0.0.1:8080 --origin h2c://127.0.0.1:9080 --admin 127.0.0.1:9901",
    "gateway --config gateway.json --watch",
  ],
  async run({ watch, ...values }) {
    const config = await readGatewayOptions(values);
    const certificates = join(process.env.YARDMASTER_HOME || defaultHome, "gateway");
    const running = await createGateway(config, { certificates });
    const reloading = reloadsOn(running, config, values, watch);
    for (const line of gatewayLines(config, running, certificates)) tell(line);
    await untilEnded(running);
    reloading.stop();
    // A store of the fleet may keep a connection of its own open.
    process.exit(exitStatus.success);
  },
});

/** The first signal ends in order, a second at once. */
function untilEnded(running: Gateway): Promise<void> {
  return new Promise((resolve, reject) => {
    let first: number | undefined;
    const end = () => {
      const now = performance.now();
      if (first === undefined) {
        first = now;
        tell("ending: requests in progress are finished; once more ends at once");
        running.drain().then(resolve, reject);
      } else if (now - first > SAME_SIGNAL) {
        running.close().then(resolve, reject);
      }
    };
    process.on("SIGINT", end);
    process.on("SIGTERM", end);
  });
}

/** Reads the configuration again on SIGHUP, and where asked for when one of its files changes. */
function reloadsOn(
  running: Gateway,
  first: GatewayConfig,
  values: GatewayValues,
  watch: boolean,
): { stop(): void } {
  let stopWatching = () => {};
  const watchThose = ({ files }: GatewayConfig) => {
    stopWatching();
    if (watch) stopWatching = watchFiles(files, timers, () => void reload());
  };
  const refuse = (error: unknown) => {
    const problems = messageOf(error).split("\n");
    for (const problem of problems) tell(problem);
    tell("the configuration before stays in force");
    return problems;
  };
  const reload = async () => {
    let config: GatewayConfig;
    try {
      config = await readGatewayOptions(values);
    } catch (error) {
      return running.noteProblems(refuse(error));
    }
    watchThose(config);
    await running.reload(config).then(
      () => tell(`reloaded: ${running.urls.join(", ")}`),
      (error) => void refuse(error),
    );
  };
  const hangUp = () => {
    void running.reopenLog().then(reload);
  };
  process.on("SIGHUP", hangUp);
  watchThose(first);
  return {
    stop() {
      process.off("SIGHUP", hangUp);
      stopWatching();
    },
  };
}

const timers = {
  setTimeout: (callback: () => void, milliseconds: number) => setTimeout(callback, milliseconds),
  clearTimeout: (timer: unknown) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};
