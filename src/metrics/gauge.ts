import { Gauge, type Registry } from "prom-client";

/** A gauge that asks for its value when Prometheus does; NaN where there is none. */
export function measured(
  registry: Registry,
  name: string,
  help: string,
  value: () => number | undefined,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value() ?? Number.NaN);
    },
  });
}

/** The same with one label, whose values are few and are all there is at the time. */
export function measuredBy(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  values: () => Iterable<readonly [string, number]>,
): void {
  new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [of, value] of values()) this.set({ [label]: of }, value);
    },
  });
}
