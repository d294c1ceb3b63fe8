import {
  type Candidate,
  type HashedCandidate,
  MAX_WEIGHT,
  validCandidates,
  validWeight,
} from "./candidate.ts";
import { Contender, compareAtOneWeight, compareContenders } from "./compare.ts";
import { KeyHasher } from "./hash.ts";
import { type HashProfile, type HashProfileName, hashProfile, hashProfiles } from "./profile.ts";

/** What selecting under one profile writes to. It never outlives a call, so one is enough. */
interface Workspace {
  readonly hasher: KeyHasher;
  /** Room for the best hash of each weight, indexed by weight. */
  readonly digests: readonly Uint8Array[];
}

const workspaces: Readonly<Record<HashProfileName, Workspace>> = {
  "HRW-SHA256": workspace(hashProfiles["HRW-SHA256"]),
  "HRW-SHA256-64": workspace(hashProfiles["HRW-SHA256-64"]),
};

function workspace(profile: HashProfile): Workspace {
  const room = { length: MAX_WEIGHT + 1 };
  const digests = Array.from(room, () => new Uint8Array(profile.bits / 8));
  return { hasher: new KeyHasher(profile), digests };
}

/**
 * The Selected Relay: the candidate that beats every other one (LB-HASHED-1, LB-HASH-15).
 *
 * Among candidates of one weight the largest hash wins, so these are compared as bytes; only the
 * leaders of the weights, at most 16, meet in the full comparison. The order of `candidates` has
 * no influence (LB-HASH-16). That RIDs are unique is the caller's part (LB-HASHED-4).
 *
 * @param hashKey the fields of the hash key
 * @param candidates the relays to select from; those of weight 0 are passed over
 * @returns the winner, with its own `rid` object, or `undefined` where no weight is positive
 * @throws {HrwError} UNKNOWN_PROFILE, INVALID_HASH_KEY, INVALID_CANDIDATE, INVALID_RID,
 *   INVALID_WEIGHT
 */
export function selectRelay(
  profile: HashProfileName,
  hashKey: readonly Uint8Array[],
  candidates: readonly Candidate[],
): HashedCandidate | undefined {
  const checked = hashProfile(profile);
  const { hasher, digests } = workspaces[checked.name];
  hasher.reset(hashKey);

  const given = validCandidates(candidates);
  const leaders: (Contender | undefined)[] = [];
  for (let i = 0; i < given.length; i++) {
    const candidate = given[i] as Candidate;
    const weight = validWeight(candidate, i);
    if (weight === 0) continue;
    hasher.hash(candidate.rid);
    const leader = leaders[weight];
    if (leader !== undefined && !leads(candidate.rid, hasher.digest, leader)) continue;
    // A copy: the hasher's digest is about to be overwritten.
    const digest = digests[weight] as Uint8Array;
    digest.set(hasher.digest);
    leaders[weight] = new Contender(candidate.rid, weight, digest);
  }
  return bestOf(leaders, checked)?.toHashedCandidate();
}

function leads(rid: Uint8Array, digest: Uint8Array, leader: Contender): boolean {
  return compareAtOneWeight(rid, digest, leader.rid, leader.digest) < 0;
}

/** The heaviest goes first: a lighter leader with a smaller hash then loses at once. */
function bestOf(
  leaders: readonly (Contender | undefined)[],
  profile: HashProfile,
): Contender | undefined {
  let best: Contender | undefined;
  for (let weight = MAX_WEIGHT; weight > 0; weight--) {
    const leader = leaders[weight];
    if (leader === undefined) continue;
    if (best === undefined || compareContenders(profile, leader, best) < 0) best = leader;
  }
  return best;
}
