import { createHash, randomBytes } from 'node:crypto'

/** Bytes of a secret and of its hash: more than anybody can try for a policy that denies nobody. */
const BYTES = 9
const CHARACTERS = (BYTES * 4) / 3

/** Proofs of which units were charged. What is told cannot be changed without the secrets that are not told. */
export interface ChargeProofs<Entry = { readonly key: string; readonly name: string }> {
  /** Hash of the hashes of all secrets: a part of what names the reservation. */
  readonly root: string
  tell(wasCharged: (entry: Entry) => boolean): string
}

/**
 * A policy that only observes may let a request pass uncharged, which is known after the reservation was named. So the
 * name covers the hashes of two secrets for each such policy, and the one that is told says whether it was charged: a
 * one-time signature (Lamport, 1979) of one bit.
 */
export function proofsOf<Entry>(entries: readonly Entry[]): ChargeProofs<Entry> | undefined {
  if (entries.length === 0) return undefined
  const secrets = entries.map(() => [secret(), secret()] as const)
  return {
    root: hash(secrets.flat().map(hash).join('')),
    tell: (wasCharged) =>
      entries
        .map((entry, i) => {
          const bit = Number(wasCharged(entry))
          return `${bit}${secrets[i]![bit]}${hash(secrets[i]![1 - bit]!)}`
        })
        .join(''),
  }
}

/** Whether each of so many entries was charged; `undefined` for all where that is not proven. */
export function provenBy(root: unknown, told: string, count: number): readonly (boolean | undefined)[] {
  const length = 1 + 2 * CHARACTERS
  const bits: boolean[] = []
  const hashes: string[] = []
  for (let at = 0; at < count * length; at += length) {
    const [bit, open, other] = [
      told[at],
      told.slice(at + 1, at + 1 + CHARACTERS),
      told.slice(at + 1 + CHARACTERS, at + length),
    ]
    bits.push(bit === '1')
    hashes.push(...(bit === '1' ? [other, hash(open)] : [hash(open), other]))
  }
  const isProven = told.length === count * length && hash(hashes.join('')) === root
  return Array.from({ length: count }, (_, i) => (isProven ? bits[i] : undefined))
}

const secret = (): string => randomBytes(BYTES).toString('base64url')
const hash = (text: string): string =>
  createHash('sha256').update(text).digest().subarray(0, BYTES).toString('base64url')
