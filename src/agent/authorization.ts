/**
 * Who may do what, and how it has to be proved (LB-SEC-5, LB-SEC-6, LB-ROT-5).
 *
 * @module
 */

import {
  type ActionType,
  type Authority,
  type Operator,
  type OperatorAction,
  type Role,
  verifyAction,
} from "./action.ts";
import { AgentError } from "./errors.ts";

/** What signatures are asked for. */
export type Signed = "publish" | "rollback" | "pool";

/** What an action was allowed on. */
export interface Grant {
  /** Absent where whoever has the signing key acts. */
  readonly operator?: Operator;
  /** The action that was signed, where one was. */
  readonly action?: OperatorAction;
  /** The signed action as it came, and the JWS that opened the session. */
  readonly jws?: string;
  readonly login?: string;
}

export interface AuthorizationOptions {
  readonly operators: ReadonlyMap<string, Operator>;
  readonly signatures: ReadonlySet<Signed>;
  /** Milliseconds of the Unix epoch. */
  readonly now: number;
}

/**
 * What `authority` allows: first who it is, then what that operator may do, then whether it is
 * proved as the configuration asks.
 *
 * @param type of the action
 * @throws {AgentError} `UNAUTHENTICATED`, `BAD_SIGNATURE`, `EXPIRED`, `INVALID_ACTION`,
 *   `FORBIDDEN`, `SIGNATURE_REQUIRED`
 */
export async function authorize(
  type: ActionType,
  authority: Authority,
  { operators, signatures, now }: AuthorizationOptions,
): Promise<Grant> {
  const grant = await identify(authority, operators, now);
  const { operator, action } = grant;
  if (action !== undefined && action.type !== type) {
    throw new AgentError("BAD_SIGNATURE", `what is signed is no ${type}`, { ...by(operator) });
  }
  if (operator !== undefined && !mayDo(operator.roles, type)) {
    const message = `${type} needs the role ${neededRole(type)} [LB-SEC-6]`;
    throw new AgentError("FORBIDDEN", message, { ...by(operator) });
  }
  if (authority.kind !== "signed" && signatures.has(signatureFor(type))) {
    const message = `${type} needs the operator's own signature [LB-ROT-5]`;
    throw new AgentError("SIGNATURE_REQUIRED", message, { ...by(operator) });
  }
  return grant;
}

/** Whether somebody with `roles` may do an action of that type. */
export function mayDo(roles: readonly Role[], type: ActionType): boolean {
  return roles.includes("routes") || roles.includes(neededRole(type));
}

function neededRole(type: ActionType): Role {
  return type === "publish" || type === "rollback" ? "routes" : "pool";
}

/** Under which name the configuration asks for signatures of that type. */
export function signatureFor(type: ActionType): Signed {
  return type === "publish" || type === "rollback" ? type : "pool";
}

async function identify(
  authority: Authority,
  operators: ReadonlyMap<string, Operator>,
  now: number,
): Promise<Grant> {
  switch (authority.kind) {
    case "local":
      return {};
    case "session": {
      // Roles and keys may have changed since the session began.
      const operator = operators.get(authority.operator.kid);
      if (operator === undefined) {
        throw new AgentError("UNAUTHENTICATED", "the session is of nobody who is an operator now");
      }
      return { operator, login: authority.login };
    }
    case "signed": {
      const { jws } = authority;
      const { action, operator } = await verifyAction(jws, operators, now);
      return { action, operator, jws };
    }
  }
}

function by(operator: Operator | undefined): { operator?: Operator } {
  return operator === undefined ? {} : { operator };
}
