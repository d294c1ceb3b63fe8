/**
 * Following redirects: where a Redirect leads, and when to follow no further.
 *
 * @module
 */

import { type Draft, draftFacts, type Redirect } from "../moqt/mod.ts";
import { normaliseUri } from "../snapshot/mod.ts";
import { ClientError } from "./errors.ts";
import { type RequestName, type Target, targetKey } from "./target.ts";

/**
 * The way of one request from the service on. Nothing is remembered beyond it, so that no redirect
 * is ever cached (RD-05).
 */
export class Trail {
  readonly #maximumHops: number;
  readonly #visited = new Set<string>();
  #hops = 0;

  /** @param maximumHops how many redirects are followed (LB-REDIR-19) */
  constructor(start: Target, maximumHops: number) {
    this.#maximumHops = maximumHops;
    this.#visited.add(targetKey(start));
  }

  /** How many redirects were followed. */
  get hops(): number {
    return this.#hops;
  }

  /**
   * Where the request goes next.
   *
   * @param at where it was redirected
   * @param draft of the session that the Redirect came on
   * @throws {ClientError} INVALID_REDIRECT for a Connect URI that is none, REDIRECT_LOOP where the
   *   same request was at the same service before (RD-10), TOO_MANY_REDIRECTS (LB-REDIR-19)
   */
  follow(at: Target, redirect: Redirect, draft: Draft): Target {
    const next: Target = {
      request: at.request,
      uri: connectUri(redirect, at),
      ...redirectName(redirect, at, draft),
    };
    const key = targetKey(next);
    if (this.#visited.has(key)) {
      throw new ClientError(
        "REDIRECT_LOOP",
        `${at.request} was redirected to where it had been before, after ${this.#hops + 1} redirects`,
      );
    }
    if (this.#hops === this.#maximumHops) {
      throw new ClientError(
        "TOO_MANY_REDIRECTS",
        `${at.request} was redirected more than ${this.#maximumHops} times`,
      );
    }
    this.#visited.add(key);
    this.#hops++;
    return next;
  }
}

/** An empty Connect URI is that of the session itself (RD-08). */
function connectUri(redirect: Redirect, at: Target): string {
  if (redirect.connectUri === "") return at.uri;
  const uri = normaliseUri(redirect.connectUri);
  if (uri !== undefined) return uri;
  throw new ClientError(
    "INVALID_REDIRECT",
    `${at.request} was redirected to something that is no https or moqt URI`,
  );
}

/** Drafts 18 and 19 leave a name out that stays the same; later ones always write it. */
function redirectName(redirect: Redirect, at: Target, draft: Draft): RequestName {
  const { trackNamespace, trackName } = redirect;
  const isEmpty = trackNamespace.length === 0 && trackName.length === 0;
  if (isEmpty && draftFacts[draft].emptyRedirectKeepsName) return nameOf(at);
  return at.trackName === undefined ? { trackNamespace } : { trackNamespace, trackName };
}

function nameOf({ trackNamespace, trackName }: Target): RequestName {
  return trackName === undefined ? { trackNamespace } : { trackNamespace, trackName };
}
