import { describe, expect, test } from "bun:test";
import { testNames } from "../../scripts/test-names.ts";

/** Reads code in which `#` stands for the ID of a requirement. */
function read(code: string) {
  const { tests, strays } = testNames(code.replaceAll("#", "[LB-KEY-1]"));
  const counted = tests.filter(({ ids }) => ids.includes("LB-KEY-1")).map(({ name }) => name);
  return { counted: counted.map((name) => name.replace(" [LB-KEY-1]", "")), strays };
}

describe("the names of tests", () => {
  test("are read with the groups that they are in", () => {
    const code = 'describe("a", () => describe("b", () => test("c #", () => {})));';
    expect(read(code)).toEqual({ counted: ["a › b › c"], strays: [] });
  });

  test("are read where a test is skipped under a condition", () => {
    expect(read('test.skipIf(missing === null)("c #", () => {});').counted).toEqual(["c"]);
  });

  test("are read where a function hands them to the runner, or to one that does", () => {
    const code = `
      const flow = (name: string, body: Body) => test(name, body);
      function twice(name: string) { flow(name, body); }
      flow("a #", () => {});
      twice("b #");`;
    expect(read(code)).toEqual({ counted: ["a", "b"], strays: [] });
  });

  test("are read where such a function is passed on under another name", () => {
    const code = `
      const scenario = (title: string) => test(title, () => {});
      streams(scenario);
      function streams(stream: Scenario) { stream("a #"); }`;
    expect(read(code)).toEqual({ counted: ["a"], strays: [] });
  });

  test("are spelled out from a table of rows or of entries", () => {
    const rows = 'const faults = [["dust #", 1], ["rust", 2]] as const;';
    const loop = (table: string) =>
      `for (const [what] of ${table}) test(\`a \${what}\`, () => {});`;
    expect(read(rows + loop("faults"))).toEqual({ counted: ["a dust"], strays: [] });
    const entries = 'const faults: Faults = { "dust #": 1 };';
    expect(read(loop("Object.entries(faults)") + entries).counted).toEqual(["a dust"]);
  });

  test("are missed where words with an ID name no test, and not where an ID stands alone", () => {
    expect(read('helper("a #"); expect(text).toContain("#");')).toEqual({
      counted: [],
      strays: [["a", "[LB-KEY-1]"].join(" ")],
    });
  });
});
