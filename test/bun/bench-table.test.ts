import { expect, test } from "bun:test";
import { informs } from "../../bench/row.ts";
import { table } from "../../bench/table.ts";

test("the table of benchmarks shows each area once, runtimes side by side, with budget and verdict", () => {
  const row = { area: "HTTP", what: "POST", ratio: 0.7, budget: "at least 0.6 x", detail: "9 µs" };
  const rows = [
    { ...row, runtime: "Bun", met: true },
    { area: "Memory", runtime: "Bun", what: "idle", ratio: 1.5, ...informs, detail: "9 KiB" },
    { ...row, runtime: "Deno", ratio: 0.5, met: false },
  ];
  expect(table(rows).split("\n")).toEqual([
    "",
    "HTTP    runtime  ratio    budget          verdict  measured",
    "  POST  Bun      0.700 x  at least 0.6 x  pass     9 µs",
    "  POST  Deno     0.500 x  at least 0.6 x  over     9 µs",
    "",
    "Memory  runtime  ratio    budget          verdict  measured",
    "  idle  Bun      1.500 x  none            -        9 KiB",
  ]);
});
