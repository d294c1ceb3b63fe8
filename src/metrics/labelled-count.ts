import { Counter, type Registry } from "prom-client";

/** A label and every value that it may have; any other becomes `other`. */
export interface ClosedLabel {
  readonly name: string;
  readonly values: Iterable<string>;
}

/**
 * A counter whose labels have closed lists of values, so that no peer can make it grow. Counting
 * is one step in a map: Prometheus gets the sums when it asks for them.
 */
export class LabelledCount {
  readonly #labels: readonly { readonly name: string; readonly values: ReadonlySet<string> }[];
  readonly #counts = new Map<string, number>();

  /** @param refresh called before the counts are read, for those that are {@link set} */
  constructor(
    registry: Registry,
    name: string,
    help: string,
    labels: readonly ClosedLabel[],
    refresh: () => void = () => {},
  ) {
    this.#labels = labels.map((label) => ({ name: label.name, values: new Set(label.values) }));
    const counts = this.#counts;
    new Counter({
      name,
      help,
      labelNames: labels.map((label) => label.name),
      registers: [registry],
      collect() {
        refresh();
        this.reset();
        for (const [key, count] of counts) {
          const values = key.split(" ");
          this.inc(Object.fromEntries(labels.map((label, i) => [label.name, values[i]])), count);
        }
      },
    });
  }

  /** Counts one, with a value for each label in order. */
  add(...values: readonly string[]): void {
    const key = this.#key(values);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** Sets a count that is kept elsewhere. */
  set(count: number, ...values: readonly string[]): void {
    this.#counts.set(this.#key(values), count);
  }

  #key(values: readonly string[]): string {
    let key = "";
    // For each request: an array for each of them would be most of what counting costs.
    for (let i = 0; i < this.#labels.length; i++) {
      const value = values[i];
      const known = value !== undefined && this.#labels[i]?.values.has(value);
      key += `${i === 0 ? "" : " "}${known ? value : "other"}`;
    }
    return key;
  }
}
