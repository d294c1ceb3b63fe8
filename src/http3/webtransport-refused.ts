import { YardmasterError } from "../errors.ts";
import type { Field } from "./field.ts";

/** The server did not establish a WebTransport session. Code `SESSION_REFUSED`. */
export class SessionRefused extends YardmasterError {
  declare readonly code: "SESSION_REFUSED";
  /** Status of the answer, 300 to 999. A redirect is not followed. */
  readonly status: number;
  readonly headers: readonly Field[];

  constructor(status: number, headers: readonly Field[]) {
    super("SESSION_REFUSED", `the server answered the CONNECT request with ${status}`);
    this.status = status;
    this.headers = headers;
  }
}
