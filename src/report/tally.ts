import { type DecisionOutcome, decisionOutcomes, type InstanceReport } from "./instance-report.ts";

/** Counts decisions by outcome for the reports of one run. */
export interface Tally {
  /** Counts one decision; takes the events of `onDecision` as they are. */
  onDecision(event: { readonly outcome: string }): void;
  /** What was counted since the start. */
  readonly decisions: InstanceReport["decisions"];
}

const known: ReadonlySet<string> = new Set(decisionOutcomes);

export function createTally(): Tally {
  const counts = new Map<DecisionOutcome, number>();
  return {
    onDecision({ outcome }) {
      const name = known.has(outcome) ? (outcome as DecisionOutcome) : "OTHER";
      counts.set(name, (counts.get(name) ?? 0) + 1);
    },
    get decisions() {
      return Object.fromEntries(counts);
    },
  };
}
