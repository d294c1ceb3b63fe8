/** @jsxImportSource hono/jsx */

/**
 * Pieces that several pages are made of: states, times, bars, notices.
 *
 * @module
 */

import type { Child } from "hono/jsx";
import { duration, isoTime, percent, utcTime } from "./words.ts";

/** How good or bad something is, which decides on its colour and sign. */
export type Tone = "ok" | "warn" | "bad" | "idle";

/** Shapes that differ without colour: a disc, half of one, a cross, a ring. */
const signs: Readonly<Record<Tone, Child>> = {
  ok: <circle cx="6" cy="6" r="5" fill="currentColor" />,
  warn: (
    <>
      <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.6" />
      <path d="M6 1.8a4.2 4.2 0 0 1 0 8.4z" fill="currentColor" />
    </>
  ),
  bad: (
    <path d="M2 2l8 8M10 2l-8 8" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" />
  ),
  idle: (
    <circle
      cx="6"
      cy="6"
      r="4.2"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-dasharray="2.2 2.2"
    />
  ),
};

/** A state as a sign and a word. */
export function State({ tone, children }: { readonly tone: Tone; readonly children?: Child }) {
  return (
    <span class={`state ${tone}`}>
      <svg viewBox="0 0 12 12" aria-hidden="true">
        {signs[tone]}
      </svg>
      {children}
    </span>
  );
}

export function Tag({
  tone = "idle",
  children,
}: {
  readonly tone?: Tone;
  readonly children?: Child;
}) {
  return <span class={`tag ${tone}`}>{children}</span>;
}

/** How long ago something was; the time itself is its title. */
export function Ago({ at, now }: { readonly at: number; readonly now: number }) {
  return (
    <time datetime={isoTime(at)} title={utcTime(at)} class="nowrap">
      {duration((now - at) / 1000)} ago
    </time>
  );
}

/** A message above everything else of a page. */
export function Notice({ tone, children }: { readonly tone: Tone; readonly children?: Child }) {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      {children}
    </div>
  );
}

interface ShareBarProps {
  readonly share: number;
  readonly expected: number;
  /** What the full width stands for. */
  readonly scale: number;
  readonly class?: string;
}

/** A measured share as a bar, the expected one as a mark on it, and both as numbers. */
export function ShareBar({ share, expected, scale, class: name = "" }: ShareBarProps) {
  const x = (value: number) => ((value / (scale || 1)) * 100).toFixed(2);
  return (
    <div class="share">
      <svg viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
        <rect class="bar-track" width="100" height="14" rx="1" />
        <rect class={`bar-fill ${name}`} y="2" width={x(share)} height="10" />
        <line class="bar-mark" x1={x(expected)} x2={x(expected)} y1="0" y2="14" />
      </svg>
      <span class="number">{percent(share)}</span>
      <span class="number quiet small">of {percent(expected)}</span>
    </div>
  );
}

/** What the parts of {@link ShareBar} stand for. */
export function ShareLegend({
  measured,
  expected,
}: {
  readonly measured: string;
  readonly expected: string;
}) {
  return (
    <span class="legend">
      <span>
        <svg viewBox="0 0 16 10" aria-hidden="true">
          <rect class="bar-fill" y="1" width="16" height="8" />
        </svg>
        {measured}
      </span>
      <span>
        <svg viewBox="0 0 16 10" aria-hidden="true">
          <line class="bar-mark" x1="8" x2="8" y1="0" y2="10" />
        </svg>
        {expected}
      </span>
    </span>
  );
}

/** The full width of share bars: the largest share of all, with a little room. */
export function scaleOf(shares: readonly number[]): number {
  return shares.reduce((largest, share) => Math.max(largest, share), 0) * 1.04;
}
