/**
 * How pages and the command line write what they show: counts, shares, ages, text of others.
 *
 * @module
 */

/**
 * Text of somebody else, on one line: characters that cannot be seen or that
 * turn the direction of writing are shown as `\u{202e}`. Escaping for HTML is the renderer's.
 */
export function safeText(text: string, longest = 300): string {
  return cut(text, longest).replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
}

/** `text`, or its beginning where it has more characters than `longest`. */
export function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return `${[...text].slice(0, longest - 1).join("")}…`;
}

/** 0.3333 as `33.3 %`, 0.00482 as `0.48 %`: shares of large pools need the digit. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(share > 0 && share < 0.1 ? 2 : 1)} %`;
}

/** 12345 as `12,345`. */
export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** `1 relay`, `3 relays`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

const units: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** Seconds as `12 s`, `5 min`, `3 h`, `2 d`; rounded down. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [size, name] = units.find(([unit]) => whole >= unit) ?? [1, "s"];
  return `${Math.floor(whole / size)} ${name}`;
}

/** A time as `2026-07-25 14:03:07 UTC`. */
export function utcTime(milliseconds: number): string {
  const iso = isoTime(milliseconds);
  return iso === undefined ? "unknown" : `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** A time as `datetime` attributes have it; `undefined` where it is none that a calendar has. */
export function isoTime(milliseconds: number): string | undefined {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
