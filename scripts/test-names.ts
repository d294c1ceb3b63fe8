/**
 * The names of the tests in a source file, read off its syntax tree: nothing is run. Names carry the
 * IDs of requirements in brackets.
 */

import ts from "typescript";

export interface NamedTest {
  /** With the names of the groups that it is in. */
  readonly name: string;
  readonly ids: readonly string[];
}

export interface TestNames {
  readonly tests: readonly NamedTest[];
  /** Words with IDs that are part of no test's name that was found: nobody would count them. */
  readonly strays: readonly string[];
}

export const idList =
  /\[((?:[A-Z]{1,2}-?(?:[A-Z]+\d?)?-?\d+)(?:,\s*(?:[A-Z]{1,2}-?(?:[A-Z]+\d?)?-?\d+))*)\]/g;

/**
 * Every test of a file: of a runner's `test`, and of functions of the file that hand it a name. A
 * name with a part from a table of the file is spelled out where the table carries IDs.
 */
export function testNames(code: string): TestNames {
  const source = ts.createSourceFile("tests.ts", code, ts.ScriptTarget.ESNext, true);
  const registrars = registrarsOf(source);
  const tests: NamedTest[] = [];
  const names = new Set<ts.Node>();
  const texts: { readonly node: ts.Node; readonly text: string }[] = [];
  const visit = (node: ts.Node, path: readonly string[]): void => {
    let inner = path;
    const call = ts.isCallExpression(node) ? named(node) : undefined;
    if (call !== undefined && (call.callee === "describe" || registrars.has(call.callee))) {
      for (const text of call.parts) names.add(text);
      if (call.callee === "describe") inner = [...path, call.texts.join(" / ")];
      else tests.push(...call.texts.map((text) => test([...path, text].join(" › "))));
    }
    const text = literalText(node);
    if (text !== undefined && hasWordsAndIds(text)) texts.push({ node, text });
    ts.forEachChild(node, (child) => visit(child, inner));
  };
  visit(source, []);
  // A table may stand before or after the tests that it names.
  const strays = texts.flatMap(({ node, text }) => (names.has(node) ? [] : [text]));
  return { tests, strays };
}

function test(name: string): NamedTest {
  return { name, ids: idsOf(name) };
}

function idsOf(text: string): string[] {
  return [...text.matchAll(idList)].flatMap((match) => (match[1] as string).split(/,\s*/));
}

/** What a message is held against, such as "[LB-ROT-3]", is no name. */
function hasWordsAndIds(text: string): boolean {
  return idsOf(text).length > 0 && /\w/.test(text.replace(idList, ""));
}

/**
 * The functions that register the tests of a file, by name: `test`, each function whose first
 * parameter goes to one of them as the name, and each parameter that one of them is passed for.
 */
function registrarsOf(source: ts.SourceFile): ReadonlySet<string> {
  const functions = functionsOf(source);
  const registrars = new Set(["test"]);
  const learn = (node: ts.Node, within: string | undefined, first: string | undefined): void => {
    const own = functionNamed(node);
    const [owner, parameter] = own === undefined ? [within, first] : [own, firstParameter(node)];
    if (ts.isCallExpression(node)) {
      const { arguments: given, expression } = node;
      const callee = rootName(expression);
      const name = given[0];
      if (callee !== undefined && registrars.has(callee) && name !== undefined) {
        const handsOn = ts.isIdentifier(name) && name.text === parameter;
        if (handsOn && owner !== undefined) registrars.add(owner);
      }
      const parameters = callee === undefined ? undefined : functions.get(callee)?.parameters;
      for (const [i, argument] of given.entries()) {
        const passed = ts.isIdentifier(argument) && registrars.has(argument.text);
        const as = parameters?.[i]?.name;
        if (passed && as !== undefined && ts.isIdentifier(as)) registrars.add(as.text);
      }
    }
    ts.forEachChild(node, (child) => learn(child, owner, parameter));
  };
  for (let known = 0; known < registrars.size; ) {
    known = registrars.size;
    learn(source, undefined, undefined);
  }
  return registrars;
}

function functionsOf(source: ts.SourceFile): ReadonlyMap<string, ts.SignatureDeclaration> {
  const found = new Map<string, ts.SignatureDeclaration>();
  const visit = (node: ts.Node): void => {
    const name = functionNamed(node);
    if (name !== undefined) found.set(name, node as ts.SignatureDeclaration);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The name of a function, declared as one or kept in a variable. */
function functionNamed(node: ts.Node): string | undefined {
  if (ts.isFunctionDeclaration(node)) return node.name?.text;
  if (!ts.isArrowFunction(node) && !ts.isFunctionExpression(node)) return undefined;
  const { parent } = node;
  const isVariable = ts.isVariableDeclaration(parent) && ts.isIdentifier(parent.name);
  return isVariable ? (parent.name as ts.Identifier).text : undefined;
}

function firstParameter(node: ts.Node): string | undefined {
  const name = (node as ts.SignatureDeclaration).parameters[0]?.name;
  return name !== undefined && ts.isIdentifier(name) ? name.text : undefined;
}

/** A call whose first argument is a text: what is called, the texts that it can be, their nodes. */
function named(node: ts.CallExpression) {
  const argument = node.arguments[0];
  const callee = rootName(node.expression);
  const text = argument && literalText(argument);
  if (callee === undefined || argument === undefined || text === undefined) return undefined;
  let texts = [text];
  const parts: ts.Node[] = [argument];
  for (const span of ts.isTemplateExpression(argument) ? argument.templateSpans : []) {
    const rows = tableTexts(span.expression);
    if (!rows.some((row) => idsOf(row.text).length > 0)) continue;
    parts.push(...rows);
    texts = rows.flatMap((row) => texts.map((before) => before.replace("…", row.text)));
  }
  return { callee, texts, parts };
}

/** The texts of a table that a variable of a `for … of` loop over it takes, one after another. */
function tableTexts(variable: ts.Expression): readonly ts.StringLiteralLike[] {
  if (!ts.isIdentifier(variable)) return [];
  for (let node: ts.Node = variable; node.parent !== undefined; node = node.parent) {
    if (!ts.isForOfStatement(node) || !ts.isVariableDeclarationList(node.initializer)) continue;
    const binding = node.initializer.declarations[0]?.name;
    if (binding === undefined || !ts.isArrayBindingPattern(binding)) continue;
    const column = binding.elements.findIndex(
      (element) => ts.isBindingElement(element) && element.name.getText() === variable.text,
    );
    if (column < 0) continue;
    return rowsOf(node.expression).flatMap((row) => {
      const text = row[column];
      return text !== undefined && ts.isStringLiteralLike(text) ? [text] : [];
    });
  }
  return [];
}

/** The rows of a table: an array of arrays, or the entries of an object; none of anything else. */
function rowsOf(table: ts.Expression): readonly (readonly ts.Node[])[] {
  const entries = ts.isCallExpression(table) && table.expression.getText() === "Object.entries";
  const literal = literalOf(entries ? (table.arguments[0] as ts.Expression) : table);
  if (literal === undefined) return [];
  if (ts.isObjectLiteralExpression(literal)) {
    return literal.properties.flatMap(({ name }) => (name === undefined ? [] : [[name]]));
  }
  if (!ts.isArrayLiteralExpression(literal)) return [];
  return literal.elements.flatMap((row) =>
    ts.isArrayLiteralExpression(row) ? [[...row.elements]] : [],
  );
}

/** What a variable of the file was declared as, without the types around it. */
function literalOf(expression: ts.Expression): ts.Expression | undefined {
  if (ts.isAsExpression(expression) || ts.isSatisfiesExpression(expression)) {
    return literalOf(expression.expression);
  }
  if (!ts.isIdentifier(expression)) return expression;
  let found: ts.Expression | undefined;
  const visit = (node: ts.Node): void => {
    const declares = ts.isVariableDeclaration(node) && node.name.getText() === expression.text;
    if (declares && node.initializer !== undefined) found = literalOf(node.initializer);
    else ts.forEachChild(node, visit);
  };
  visit(expression.getSourceFile());
  return found;
}

/** `test` of `test`, `test.skipIf(…)` and the like; methods of other things are not functions. */
function rootName(callee: ts.Expression): string | undefined {
  if (ts.isIdentifier(callee)) return callee.text;
  if (!ts.isCallExpression(callee) || !ts.isPropertyAccessExpression(callee.expression)) {
    return undefined;
  }
  return rootName(callee.expression.expression);
}

/** The static text of a string or template literal; substitutions are left out. */
function literalText(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map((span) => `…${span.literal.text}`).join("");
}
