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
the proxy can do that. ✓ is what HTTP and the client-group draft want, ✗ is something else. The table is
written by \`npm run bench -- behaviour\`; nothing in it is written by hand.
`;

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

export function behaviourPage(events: readonly Happening[], columns: readonly Column[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  const head = ["Case", "Event", "Wanted", ...columns.map(({ proxy }) => proxy.name)];
  const rows = events.map(({ of, event, wanted }, index) => {
    const outcomes = columns.map(({ seen }) => {
      const { saw, holds } = seen[index] as Seen;
      return `${holds ? "✓" : "✗"} ${saw}`;
    });
    return line([of, event, wanted, ...outcomes]);
  });
  const totals = columns.map(
    ({ seen }) => `${seen.filter(({ holds }) => holds).length} of ${events.length}`,
  );
  const versions = columns.map(({ proxy }) => `- ${proxy.name}: ${proxy.version()}`);
  return [
    introduction,
    ...versions,
    "",
    line(head),
    line(head.map(() => "---")),
    ...rows,
    line(["", "", "✓", ...totals]),
    "",
  ].join("\n");
}
