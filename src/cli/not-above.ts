import { InputError } from "./errors.ts";

/** The error for a file whose version load balancers would refuse (LB-ROT-3). */
export function notAbove(
  source: string,
  version: number,
  current: number,
  where: string,
): InputError {
  return new InputError(
    `${source}: version: ${version} is not above ${current}, the current version of ` +
      `${where} [LB-ROT-3]; raise it, or take the next one with --next`,
  );
}
