/**
 * The `cors` option: hono takes anything, and what is wrong shows in browsers alone.
 *
 * @module
 */

import type { cors } from "hono/cors";
import {
  ConfigurationError,
  requireBoolean,
  requireInteger,
  requireList,
  requireObject,
} from "../moq-lb/mod.ts";

/** @throws {ConfigurationError} a member is wrong, or an origin is none */
export function checkCors(options: NonNullable<Parameters<typeof cors>[0]>): void {
  requireObject("cors", options);
  const { origin = "*", allowMethods, maxAge } = options;
  if (Array.isArray(origin)) {
    for (const [i, each] of origin.entries()) requireOrigin(`cors.origin[${i}]`, each);
  } else if (typeof origin !== "function" && origin !== "*") {
    requireOrigin("cors.origin", origin);
  }
  if (typeof allowMethods !== "function") requireTexts("cors.allowMethods", allowMethods);
  requireTexts("cors.allowHeaders", options.allowHeaders);
  requireTexts("cors.exposeHeaders", options.exposeHeaders);
  if (maxAge !== undefined) requireInteger("cors.maxAge", maxAge, 0);
  requireBoolean("cors.credentials", options.credentials);
}

/**
 * Origins are compared as text with what browsers send (RFC 6454 §6.2): one with a path, a default
 * port or an upper-case host would never match.
 */
function requireOrigin(option: string, origin: unknown): void {
  if (origin === "null" || (typeof origin === "string" && isOrigin(origin))) return;
  throw new ConfigurationError(`${option} has to be an origin, such as https://player.example`);
}

function isOrigin(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]+$/.test(text) || !URL.canParse(text)) return false;
  const { origin } = new URL(text);
  // Other schemes than those of the web, such as an app's own, have no origin by the URL class.
  return origin === text || origin === "null";
}

function requireTexts(option: string, texts: unknown): void {
  requireList(option, texts, (text) => typeof text === "string", "strings");
}
