/** The table of what clients saw, as a page in Markdown. */

import type { ReverseProxy } from "../proxies/proxy.ts";
import type { Happening, Seen } from "./happening.ts";

export interface Column {
  readonly proxy: ReverseProxy;
  /** One for each event, in order. */
  readonly seen: readonly Seen[];
}

const introduction = `# What clients see when things go wrong

Each row is an event of an origin or of a client, played frame by frame through each proxy with the
configuration that bench/proxies gives it: connections to the origin are shared among clients where
the proxy can do that. ✓ is what is wanted, ✗ is something else. What HTTP wants of any proxy and what
only the client-group draft wants, which the others have not heard of, is summed up apart: there, HTTP
lets a gateway answer 502 or pass a field on. Others are of the versions below, as Debian has them,
some years old, and without retries of their own turned on; yard gateway runs with its retry on. The
table is written by \`npm run bench -- behaviour\`.
`;

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

export function behaviourPage(events: readonly Happening[], columns: readonly Column[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  const head = ["Case", "Event", "Wanted", "By", ...columns.map(({ proxy }) => proxy.name)];
  const rows = events.map(({ of, event, wanted, by }, index) => {
    const outcomes = columns.map(({ seen }) => {
      const { saw, holds } = seen[index] as Seen;
      return `${holds ? "✓" : "✗"} ${saw}`;
    });
    return line([of, event, wanted, by, ...outcomes]);
  });
  const totals = (["HTTP", "draft"] as const).map((whose) => {
    const of = events.filter(({ by }) => by === whose).length;
    const held = (seen: readonly Seen[]) =>
      seen.filter(({ holds }, index) => holds && events[index]?.by === whose).length;
    return line(["", "", "✓", whose, ...columns.map(({ seen }) => `${held(seen)} of ${of}`)]);
  });
  const versions = columns.map(({ proxy }) => `- ${proxy.name}: ${proxy.version()}`);
  return [
    introduction,
    ...versions,
    "",
    line(head),
    line(head.map(() => "---")),
    ...rows,
    ...totals,
    "",
  ].join("\n");
}
