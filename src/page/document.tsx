/** @jsxImportSource hono/jsx */

/**
 * What every page has, whoever it is for: the head, and the sign of the project.
 *
 * @module
 */

import type { Child } from "hono/jsx";

interface DocumentProps {
  readonly title: string;
  /** Seconds after which the browser loads the page again. */
  readonly refresh?: number | undefined;
  readonly children?: Child;
}

/** A page around what is in its body. */
export function Document({ title, refresh, children }: DocumentProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {refresh !== undefined && <meta http-equiv="refresh" content={`${refresh}`} />}
        <title>{title}</title>
        <link rel="icon" type="image/svg+xml" href="/icon.svg" />
        <link rel="stylesheet" href="/style.css" />
      </head>
      <body>{children}</body>
    </html>
  );
}

/** Tracks that part: the sign of the project. */
export function Brand() {
  return (
    <svg viewBox="0 0 18 18" aria-hidden="true">
      <g fill="none" stroke="var(--bar)" stroke-width="2" stroke-linecap="round">
        <path d="M2 9h4c3 0 3-5 6-5h4M6 9c3 0 3 5 6 5h4M6 9h10" />
      </g>
    </svg>
  );
}
