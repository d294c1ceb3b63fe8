/**
 * Where a gateway shows itself: one port, with what is asked for there, through reloads.
 *
 * @module
 */

import type { GatewayMetrics } from "../../metrics/mod.ts";
import { type Listener, serve } from "../../page/serve.ts";
import { type AdminConfig, formatAddress } from "../config.ts";
import type { EnteringPort, LeavingPort } from "../port-exchange.ts";
import type { GatewayView } from "../view.ts";
import { adminApp } from "./app.ts";

export interface AdminPortOptions {
  readonly view: () => GatewayView;
  readonly metrics: Pick<GatewayMetrics, "render" | "contentType">;
}

/** How another configuration's port comes to be in force. */
export interface AdminPlan {
  readonly leaving: readonly LeavingPort[];
  readonly entering: readonly EnteringPort[];
  /** The port that stays asks for the token of the new configuration; one that left is closed. */
  commit(): void;
}

type App = ReturnType<typeof adminApp>;

/** A port that answers, by whatever app is in force. */
class OpenPort {
  readonly config: AdminConfig;
  app: App;
  #listener: Listener;
  /** Where the system chose the number, it is kept through a pause. */
  readonly #port: number;

  /** @throws {YardmasterError} LISTEN_FAILED */
  constructor(config: AdminConfig, app: App) {
    this.config = config;
    this.app = app;
    this.#listener = this.#serve(config.port);
    this.#port = Number(new URL(this.#listener.url).port || config.port);
  }

  get url(): string {
    return this.#listener.url;
  }

  get leaving(): LeavingPort {
    const { hostname } = this.config;
    return {
      name: formatAddress({ hostname, port: this.#port }),
      port: this.#port,
      pause: () => this.close(),
      resume: () => {
        this.#listener = this.#serve(this.#port);
      },
    };
  }

  close(): Promise<void> {
    return this.#listener.close();
  }

  #serve(port: number): Listener {
    return serve({ hostname: this.config.hostname, port }, (request) => this.app.fetch(request));
  }
}

export class AdminPort {
  readonly #options: AdminPortOptions;
  #open: OpenPort | undefined;

  constructor(options: AdminPortOptions) {
    this.#options = options;
  }

  get url(): string | undefined {
    return this.#open?.url;
  }

  /** What another configuration makes of the port. Nothing has changed yet. */
  plan(config: AdminConfig | undefined): AdminPlan {
    const before = this.#open;
    const leaving = before === undefined ? [] : [before.leaving];
    if (config === undefined) {
      return { leaving, entering: [], commit: () => this.#replace(undefined) };
    }
    const app = this.#app(config);
    if (before !== undefined && formatAddress(before.config) === formatAddress(config)) {
      return {
        leaving: [],
        entering: [],
        commit: () => {
          before.app = app;
        },
      };
    }
    let next: OpenPort | undefined;
    return {
      leaving,
      entering: [
        {
          port: config.port,
          open: async () => {
            next = new OpenPort(config, app);
          },
          stop: () => next?.close(),
        },
      ],
      commit: () => this.#replace(next),
    };
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.close();
  }

  #replace(next: OpenPort | undefined): void {
    const before = this.#open;
    this.#open = next;
    void before?.close();
  }

  #app({ token }: AdminConfig): App {
    return adminApp({ ...this.#options, ...(token !== undefined && { token }) });
  }
}
