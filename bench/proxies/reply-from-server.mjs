/**
 * @fastify/reply-from as its README sets it up for HTTP/2 on both sides. Plain JavaScript, so that it
 * runs on Node as well.
 *
 * Arguments: port, certificate file, key file, authority file, origin (`https://…` or `http://…`).
 */

import { readFileSync } from "node:fs";
import process from "node:process";
import replyFrom from "@fastify/reply-from";
import fastify from "fastify";

const [port, certificateFile, keyFile, authorityFile, origin] = process.argv.slice(2);
const cert = readFileSync(certificateFile, "utf8");
const key = readFileSync(keyFile, "utf8");
const ca = readFileSync(authorityFile, "utf8");

const app = fastify({ http2: true, https: { cert, key, allowHTTP1: true } });
app.removeAllContentTypeParsers();
// Content goes on as the stream that it is.
app.addContentTypeParser("*", (_request, content, done) => done(null, content));
app.register(replyFrom, {
  base: origin,
  http2: { sessionOptions: { ca, servername: "localhost" } },
});
app.all("/*", (request, reply) => reply.from(request.raw.url));
await app.listen({ port: Number(port), host: "127.0.0.1" });
