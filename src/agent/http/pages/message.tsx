/** @jsxImportSource hono/jsx */

/**
 * A page that says one thing.
 *
 * @module
 */

import { safeText } from "../../../page/words.ts";
import { Layout, type Viewer } from "./layout.tsx";

interface MessagePageProps {
  readonly viewer: Viewer;
  readonly title: string;
  readonly text: string;
}

export function MessagePage({ viewer, title, text }: MessagePageProps) {
  return (
    <Layout title={`${title} · Yardmaster`} viewer={viewer}>
      <h1>{title}</h1>
      <p>{safeText(text)}</p>
      <p>
        <a href="/">Back to the pool</a>
      </p>
    </Layout>
  );
}
