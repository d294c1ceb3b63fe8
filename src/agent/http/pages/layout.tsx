/** @jsxImportSource hono/jsx */

/**
 * What every page has: head, navigation, who is signed in.
 *
 * @module
 */

import type { Child } from "hono/jsx";
import type { Operator } from "../../action.ts";
import { safeText } from "../words.ts";

/** What a page knows of whoever looks at it. */
export interface Viewer {
  readonly operator: Operator;
  /** What forms carry. */
  readonly csrf: string;
}

/** Where the navigation leads. */
export type Place = "pool" | "history" | "route" | "simulate";

const places: readonly (readonly [Place, path: string, label: string])[] = [
  ["pool", "/", "Pool"],
  ["history", "/history", "History"],
  ["route", "/route", "Route"],
  ["simulate", "/simulate", "Simulate"],
];

interface LayoutProps {
  readonly title: string;
  readonly viewer?: Viewer | undefined;
  readonly place?: Place | undefined;
  /** Seconds after which the browser loads the page again. */
  readonly refresh?: number | undefined;
  readonly children?: Child;
}

export function Layout({ title, viewer, place, refresh, children }: LayoutProps) {
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
      <body>
        {viewer !== undefined && (
          <>
            <a class="skip" href="#content">
              Skip to content
            </a>
            <header class="top">
              <div>
                <a class="brand" href="/">
                  <Brand />
                  Yardmaster
                </a>
                <nav aria-label="Pages">
                  {places.map(([name, path, label]) => (
                    <a href={path} aria-current={name === place ? "page" : undefined}>
                      {label}
                    </a>
                  ))}
                </nav>
                <form class="who" method="post" action="/logout">
                  <input type="hidden" name="csrf" value={viewer.csrf} />
                  <b>{safeText(viewer.operator.name, 40)}</b>
                  <button class="link" type="submit">
                    Sign out
                  </button>
                </form>
              </div>
            </header>
          </>
        )}
        <main id="content">{children}</main>
      </body>
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
