/**
 * The `cors` option and lists of origins: hono takes anything, and what is wrong shows in browsers
 * alone.
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

/** What hono's `cors` takes. */
export type CorsOptions = NonNullable<Parameters<typeof cors>[0]>;

/** @throws {ConfigurationError} a member is wrong, or an origin is none */
export function checkCors(options: CorsOptions): void {
  requireObject("cors", options);
  const { origin = "*", allowMethods, maxAge } = options;
  if (Array.isArray(origin)) requireOrigins("cors.origin", origin);
  else if (typeof origin !== "function") requireOrigin("cors.origin", origin);
  if (typeof allowMethods !== "function") requireTexts("cors.allowMethods", allowMethods);
  requireTexts("cors.allowHeaders", options.allowHeaders);
  requireTexts("cors.exposeHeaders", options.exposeHeaders);
  if (maxAge !== undefined) requireInteger("cors.maxAge", maxAge, 0);
  requireBoolean("cors.credentials", options.credentials);
}

/** `options` with the origin `*` alone where it is among others: hono would compare it as text. */
export function withAnyOrigin(options: CorsOptions): CorsOptions {
  const { origin } = options;
  return Array.isArray(origin) && origin.includes("*") ? { ...options, origin: "*" } : options;
}

/** @throws {ConfigurationError} `origins` is given and not an array of origins */
export function requireOrigins(option: string, origins: unknown): void {
  requireList(option, origins, () => true, "origins");
  for (const [i, origin] of ((origins ?? []) as readonly unknown[]).entries()) {
    requireOrigin(`${option}[${i}]`, origin);
  }
}

/**
 * Origins are compared as text with what browsers send (RFC 6454 §6.2): one with a path, a default
 * port or an upper-case host would never match.
 */
function requireOrigin(option: string, origin: unknown): void {
  if (origin === "*" || origin === "null" || (typeof origin === "string" && isOrigin(origin)))
    return;
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
