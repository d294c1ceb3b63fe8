/** What a benchmark measured, and against which budget: one line of the table. */
export interface Row {
  readonly what: string;
  /** The measured ratio; its meaning and bound stand in `budget`. */
  readonly ratio: number;
  /** `none` where the line only informs. */
  readonly budget: string;
  /** Absent where there is no budget. */
  readonly met?: boolean;
  readonly detail: string;
}

/** For rows that nothing is held against. */
export const informs = { budget: "none" } as const;

/** A row with where it belongs in the table. */
export interface PlacedRow extends Row {
  readonly area: string;
  readonly runtime: string;
}
