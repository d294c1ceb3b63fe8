import { type Candidate, type HashedCandidate, validCandidates, validWeight } from "./candidate.ts";
import { Contender, compareContenders } from "./compare.ts";
import { KeyHasher } from "./hash.ts";
import { type HashProfileName, hashProfile } from "./profile.ts";

/**
 * All candidates of positive weight, best first: the first is the one that `selectRelay` answers,
 * the second the one it would answer without the first, and so on (LB-HASH-14).
 *
 * @throws {HrwError} UNKNOWN_PROFILE, INVALID_HASH_KEY, INVALID_CANDIDATE, INVALID_RID,
 *   INVALID_WEIGHT
 */
export function rankRelays(
  profile: HashProfileName,
  hashKey: readonly Uint8Array[],
  candidates: readonly Candidate[],
): HashedCandidate[] {
  const checked = hashProfile(profile);
  const hasher = new KeyHasher(checked).reset(hashKey);
  const contenders: Contender[] = [];
  for (const [i, candidate] of validCandidates(candidates).entries()) {
    const weight = validWeight(candidate, i);
    if (weight === 0) continue;
    hasher.hash(candidate.rid);
    contenders.push(new Contender(candidate.rid, weight, hasher.digest.slice()));
  }
  contenders.sort((a, b) => compareContenders(checked, a, b));
  return contenders.map((contender) => contender.toHashedCandidate());
}
