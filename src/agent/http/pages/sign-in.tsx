/** @jsxImportSource hono/jsx */

/**
 * The page that strangers see; there is nothing about relays on it (LB-SEC-11).
 *
 * @module
 */

import { Brand } from "../../../page/document.tsx";
import { Notice } from "../../../page/pieces.tsx";
import { safeText } from "../../../page/words.ts";
import { Layout } from "./layout.tsx";

interface SignInProps {
  /** Where to go on; a path of ours. */
  readonly next: string;
  /** The token that a link brought; it is used when the form is sent, and not before. */
  readonly token?: string | undefined;
  readonly fault?: string | undefined;
}

export function SignInPage({ next, token, fault }: SignInProps) {
  return (
    <Layout title="Sign in · Yardmaster">
      <div class="sign-in card">
        <h1 class="brand">
          <Brand />
          Yardmaster
        </h1>
        {fault !== undefined && <Notice tone="bad">{safeText(fault)}</Notice>}
        <form method="post" action="/login">
          <input type="hidden" name="next" value={next} />
          {token === undefined ? (
            <>
              <p class="quiet">
                <code>yard login</code> prints a token that is good for five minutes and for one
                session.
              </p>
              <label>
                Token
                <textarea
                  name="token"
                  required
                  autofocus
                  class="mono"
                  autocomplete="off"
                  spellcheck={false}
                />
              </label>
            </>
          ) : (
            <>
              <p class="quiet">Your link holds a token that is good for one session.</p>
              <input type="hidden" name="token" value={token} />
            </>
          )}
          <div>
            <button class="main" type="submit">
              Sign in
            </button>
          </div>
        </form>
      </div>
    </Layout>
  );
}
