/** What a benchmark measured against its budget: one line of the table. */
export interface Row {
  readonly what: string;
  /** The measured ratio; its meaning and bound stand in `budget`. */
  readonly ratio: number;
  readonly budget: string;
  readonly met: boolean;
  readonly detail: string;
}
