/**
 * What the answers that carry pages have in common.
 *
 * @module
 */

/**
 * No scripts, no frames, nothing from elsewhere. Referrers stay here: a link to sign in holds a
 * token; and without any, browsers would name no origin when they post a form.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; " +
    "frame-ancestors 'none'; base-uri 'none'",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** A file that belongs to pages, such as their style. */
export function asset(text: string, type: string): Response {
  return new Response(text, {
    headers: { "content-type": type, "cache-control": "public, max-age=300" },
  });
}
