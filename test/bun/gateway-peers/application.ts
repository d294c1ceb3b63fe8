/** What our origin serves to programs that nobody here wrote. */

import { createHash } from "node:crypto";
import type { OriginFetch } from "../../../src/http2/origin-handler.ts";

/** Octets that differ from each other, so that a piece in the wrong place is seen. */
export function octets(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 8) * 7) & 0xff;
  return bytes;
}

export function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const events = "data: one\n\ndata: two\n\ndata: three\n\n";
const picture =
  '<svg xmlns="http://www.w3.org/2000/svg" width="2" height="2"><rect width="2" height="2"/></svg>';
/** A page with a hundred pictures; the query keeps each from the browser's cache. */
const page = `<!doctype html>${Array.from({ length: 100 }, (_, i) => `<img src="/picture?${i}">`).join("")}`;

export const application: OriginFetch = async (request, info) => {
  const { pathname, searchParams } = new URL(request.url);
  const text = (content: string, type: string) =>
    new Response(content, { headers: { "content-type": type } });
  switch (pathname) {
    case "/octets":
      return new Response(octets(Number(searchParams.get("length"))) as Uint8Array<ArrayBuffer>);
    case "/digest":
      return text(digest(new Uint8Array(await request.arrayBuffer())), "text/plain");
    case "/seen":
      return Response.json({
        method: request.method,
        fields: Object.fromEntries(request.headers),
        grouped: info.clientGroup !== undefined,
      });
    case "/page":
      return text(page, "text/html");
    case "/picture":
      return text(picture, "image/svg+xml");
    case "/events":
      return text(events, "text/event-stream");
    case "/empty":
      return new Response(null, { status: 204 });
    default:
      return new Response("nothing here", { status: 404 });
  }
};
