/**
 * `#test` on workerd, which has no runner of its own: tests are collected at load and run on
 * request; `runCollected` answers one result per test.
 */

type Body = () => void | Promise<void>;

export interface TestResult {
  readonly name: string;
  readonly ok: boolean;
  readonly error?: string;
}

const collected: { name: string; body: Body }[] = [];
const path: string[] = [];

export function describe(name: string, body: () => void): void {
  path.push(name);
  body();
  path.pop();
}

export function test(name: string, body: Body): void {
  collected.push({ name: [...path, name].join(" > "), body });
}

/** Runs every collected test, one after another. */
export async function runCollected(): Promise<TestResult[]> {
  const results: TestResult[] = [];
  for (const { name, body } of collected) {
    try {
      await body();
      results.push({ name, ok: true });
    } catch (error) {
      results.push({
        name,
        ok: false,
        error: error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error),
      });
    }
  }
  return results;
}
