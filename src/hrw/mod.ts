/**
 * Weighted rendezvous hashing: which relay of a hashed route a hash key selects.
 *
 * Exact integers all the way, so that every instance selects the same relay (LB-HASH-1).
 *
 * @module
 */

export type { Candidate, HashedCandidate } from "./candidate.ts";
export { MAX_WEIGHT } from "./candidate.ts";
export { wins } from "./compare.ts";
export { encodeHashInput } from "./encode.ts";
export { HrwError, type HrwErrorCode } from "./error.ts";
export { candidateHash } from "./hash.ts";
export {
  defaultHashProfile,
  type HashProfile,
  type HashProfileName,
  hashProfiles,
  isHashProfileName,
} from "./profile.ts";
export { rankRelays } from "./rank.ts";
export { selectRelay } from "./select.ts";
