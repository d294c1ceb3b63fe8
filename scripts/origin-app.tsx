/** @jsxImportSource hono/jsx */

/**
 * The application of `npm run origin`: what an origin can do to one client behind a gateway, in as few
 * lines as it takes.
 */

import { Hono } from "hono";
import {
  blockAfterFailures,
  type ClientGroupVariables,
  clientGroup,
  limitStreams,
} from "../src/hono/client-group.ts";
import { Document } from "../src/page/document.tsx";
import { asset, securityHeaders } from "../src/page/response.ts";
import { stylesheet } from "../src/page/style.ts";

/** The password of everybody here. */
const password = "yardmaster";

/** A download takes this many pieces, one every `piecePause` milliseconds. */
const pieces = 60;
const pieceBytes = 16_384;
const piecePause = 500;

/** @param log told of each request, and of what is said of its group */
export function originApp(log: (line: string) => void) {
  const app = new Hono<{ Variables: ClientGroupVariables }>();

  app.get("/style.css", () => asset(stylesheet, "text/css; charset=utf-8"));
  app.get("/icon.svg", (c) => c.body(null, 204));

  app.use(clientGroup());
  app.use(async (c, next) => {
    await next();
    log(`${c.req.method} ${c.req.path} ${c.res.status}, ${named(c.var.clientGroup)}`);
  });
  app.use(limitStreams({ over: 8, to: 2 }));

  app.get("/", (c) =>
    c.html(
      `<!DOCTYPE html>${(<Page group={named(c.var.clientGroup)} />).toString()}`,
      200,
      securityHeaders,
    ),
  );
  app.get("/whoami", (c) => c.text(`${named(c.var.clientGroup)}\n`));

  app.post("/login", blockAfterFailures({ failures: 3, within: 60, block: 60 }), async (c) => {
    const form = await c.req.parseBody();
    if (form.password !== password) return c.text("Wrong password.\n", 401);
    return c.text("Welcome.\n");
  });

  app.get("/download", () => download());

  app.post("/move", (c) => {
    const { clientGroup: group } = c.var;
    if (group === undefined) return c.text("You have no group to move.\n", 409);
    group.goaway({ alone: true });
    return c.text("Your next request comes on a connection of your own.\n");
  });
  app.post("/stop", (c) => {
    const stopped = c.var.clientGroup?.resetStreams({ keepCurrent: true }) ?? 0;
    return c.text(`${stopped} of your requests were stopped.\n`);
  });
  return app;
}

function named(group: ClientGroupVariables["clientGroup"]): string {
  return group === undefined ? "ungrouped" : `client group ${group.id}`;
}

/** Slow enough to be stopped, blocked or moved while it goes on. */
function download(): Response {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (sent > 0) await new Promise((resolve) => setTimeout(resolve, piecePause));
        controller.enqueue(new Uint8Array(pieceBytes).fill(0x2e));
        if (++sent === pieces) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(pieces * pieceBytes),
    },
  });
}

function Page({ group }: { readonly group: string }) {
  return (
    <Document title="Origin">
      <main>
        <h1>An origin that takes part in client groups</h1>
        <p>
          To this origin you are <strong>{group}</strong>. It knows nothing else of you.
        </p>
        <section class="card sign-in">
          <h2>Log in</h2>
          <form method="post" action="/login">
            <label>
              Password <input type="password" name="password" autocomplete="off" />
            </label>
            <button type="submit" class="main">
              Log in
            </button>
          </form>
          <p>
            The password is <code>{password}</code>. Three others in a minute block your group for a
            minute: the gateway answers 429, and everybody else goes on.
          </p>
        </section>
        <section class="card">
          <h2>More</h2>
          <div class="row">
            <a href="/download">A download of half a minute</a>
            <form method="post" action="/stop">
              <button type="submit">Stop my downloads</button>
            </form>
            <form method="post" action="/move">
              <button type="submit">Give me a connection of my own</button>
            </form>
          </div>
        </section>
      </main>
    </Document>
  );
}
