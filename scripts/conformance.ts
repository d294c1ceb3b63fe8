/**
 * `npm run conformance`: writes docs/conformance.md, which says for each requirement which tests
 * show it. Test names carry the IDs in brackets. Fails when a name carries an ID that does not
 * exist, or when a text with IDs names no test; with `--check`, also when the page on disk is not
 * what the tests say today.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import cases from "../test/requirements/cases.json" with { type: "json" };
import clientGroup from "../test/requirements/client-group.json" with { type: "json" };
import moqLb from "../test/requirements/moq-lb.json" with { type: "json" };
import { idList, type NamedTest, testNames } from "./test-names.ts";

interface CountedTest extends NamedTest {
  readonly file: string;
}

interface Item {
  readonly id: string;
  readonly text: string;
  readonly level?: string;
}

const root = join(import.meta.dir, "..");
const page = join(root, "docs", "conformance.md");

const tests: CountedTest[] = [];
const strays: string[] = [];
for (const path of testFiles(join(root, "test"))) {
  const file = relative(root, path);
  const found = testNames(readFileSync(path, "utf8"));
  tests.push(...found.tests.map((test) => ({ file, ...test })));
  strays.push(...found.strays.map((text) => `${file}: "${text}" names no test that was found`));
}
const byId = new Map<string, CountedTest[]>();
for (const test of tests) {
  for (const id of new Set(test.ids)) byId.set(id, [...(byId.get(id) ?? []), test]);
}

const known = new Set(
  [moqLb, clientGroup].flatMap((set) =>
    [...set.rows, ...set.subtle, ...set.open].map((item) => item.id),
  ),
);
for (const item of cases) known.add(item.id);
const unknown = [...byId].flatMap(([id, named]) =>
  known.has(id) ? [] : named.map(({ file, name }) => `${file}: "${name}" names unknown ${id}`),
);
const problems = [...strays, ...unknown];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);

function testFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(directory, name))
    .sort();
}

const cell = (text: string) => text.replaceAll("|", "\\|");
const withoutIds = (name: string) => name.replace(idList, "").replace(/\s+/g, " ").trim();

function table(items: readonly Item[]): string[] {
  const covered = items.filter((item) => byId.has(item.id));
  const open = items.filter((item) => !byId.has(item.id));
  const lines: string[] = [];
  if (covered.length > 0) {
    lines.push("| ID | Requirement | Tests |", "|---|---|---|");
    for (const item of covered) {
      const shown = (byId.get(item.id) as CountedTest[]).map(
        (test) => `${cell(withoutIds(test.name))} (\`${test.file}\`)`,
      );
      const level = item.level === undefined ? "" : `${item.level}: `;
      lines.push(`| ${item.id} | ${level}${cell(item.text)} | ${shown.join("<br>")} |`);
    }
    lines.push("");
  }
  if (open.length > 0) lines.push(`Not covered: ${open.map((item) => item.id).join(", ")}`, "");
  return lines;
}

const out: string[] = [
  "# Conformance",
  "",
  "Which requirement is shown by which test. Written by `npm run conformance` from the names of",
  "the tests; the IDs are those of test/requirements. A row that no test names is listed as not",
  "covered, whether or not code exists for it.",
  "",
];

const summary: string[] = ["| Area | Rows | Covered |", "|---|---|---|"];
const sections: string[] = [];
for (const [title, prefix, set] of [
  ["MoQ-LB", "LB", moqLb],
  ["Client groups", "CG", clientGroup],
] as const) {
  sections.push(`## ${title}`, "");
  for (const [area, areaTitle] of Object.entries(set.areas)) {
    const rows = set.rows.filter((row) => row.area === area);
    const covered = rows.filter((row) => byId.has(row.id)).length;
    summary.push(`| ${prefix}-${area}: ${areaTitle} | ${rows.length} | ${covered} |`);
    sections.push(`### ${prefix}-${area}: ${areaTitle} (${covered} of ${rows.length})`, "");
    sections.push(...table(rows), ...table(set.subtle.filter((item) => item.area === area)));
  }
  sections.push(`### ${prefix}: readings of open points`, "", ...table(set.open));
  sections.push(`### ${prefix}: cases from the field`, "");
  sections.push(
    ...table(cases.filter((item) => item.set === (prefix === "LB" ? "moq-lb" : "client-group"))),
  );
}
const text = `${[...out, ...summary, "", ...sections].join("\n").trimEnd()}\n`;

if (process.argv.includes("--check")) {
  let current = "";
  try {
    current = readFileSync(page, "utf8");
  } catch {
    // No page yet: stale like any other difference.
  }
  if (current !== text) {
    console.error("docs/conformance.md is not up to date: run npm run conformance");
    process.exit(1);
  }
} else {
  mkdirSync(dirname(page), { recursive: true });
  writeFileSync(page, text);
}
const rows = moqLb.rows.length + clientGroup.rows.length;
const covered = [...moqLb.rows, ...clientGroup.rows].filter((row) => byId.has(row.id)).length;
console.log(`${tests.length} tests, ${covered} of ${rows} requirement rows covered`);
