import { HrwError } from "./error.ts";

/** Names of the supported hash profiles; compared exactly, case included (LB-S33). */
export type HashProfileName = "HRW-SHA256" | "HRW-SHA256-64";

/** An entry of the MoQ-LB Hash Profiles registry (LB-IANA-2), with its modulus. */
export interface HashProfile {
  readonly name: HashProfileName;
  /** The hash algorithm, in the registry's words. */
  readonly algorithm: string;
  /** b: how many leading bits of the digest form the hash, a multiple of 8. */
  readonly bits: number;
  /** D = 2^b + 1 (LB-PROFILE-1). */
  readonly modulus: bigint;
  /** Where the profile is specified. */
  readonly reference: string;
}

/** The profile of a hashed route that names none (LB-PROFILE-8). */
export const defaultHashProfile: HashProfileName = "HRW-SHA256";

/** Every registered profile by name (LB-IANA-1, LB-IANA-3, LB-IANA-4). */
export const hashProfiles: Readonly<Record<HashProfileName, HashProfile>> = Object.freeze({
  "HRW-SHA256": entry("HRW-SHA256", "SHA-256", 256),
  "HRW-SHA256-64": entry("HRW-SHA256-64", "SHA-256, first 8 bytes", 64),
});

function entry(name: HashProfileName, algorithm: string, bits: number): HashProfile {
  const modulus = (1n << BigInt(bits)) + 1n;
  return Object.freeze({ name, algorithm, bits, modulus, reference: "MoQ-LB, Hash Profiles" });
}

/** Whether `text` names a supported profile. A table that names another is invalid (LB-PROFILE-9). */
export function isHashProfileName(text: string): text is HashProfileName {
  return Object.hasOwn(hashProfiles, text);
}

/**
 * The profile called `name`.
 *
 * @throws {HrwError} UNKNOWN_PROFILE
 */
export function hashProfile(name: HashProfileName): HashProfile {
  if (!isHashProfileName(name)) {
    const known = Object.keys(hashProfiles).join(" or ");
    throw new HrwError("UNKNOWN_PROFILE", `the hash profile has to be ${known}`);
  }
  return hashProfiles[name];
}
