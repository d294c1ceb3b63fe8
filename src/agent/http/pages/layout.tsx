/** @jsxImportSource hono/jsx */

/**
 * What every page has: head, navigation, who is signed in.
 *
 * @module
 */

import type { Child } from "hono/jsx";
import { Brand, Document } from "../../../page/document.tsx";
import { safeText } from "../../../page/words.ts";
import type { Operator } from "../../action.ts";

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
    <Document title={title} refresh={refresh}>
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
    </Document>
  );
}
