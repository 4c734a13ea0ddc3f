import { createHmac } from 'node:crypto'
import { costOf, decoyHash, type HashCost, type User } from './password-file.js'

/** As many values has the part of a digest that is taken for a number. */
const RANGE = 2 ** 48

/**
 * Hashes for users there are not. What a password costs to look at depends on the hash of its user, and would tell who is in
 * the file: so a name that is not costs always the same, and of many such names as many cost so much as of those that are.
 */
export class DecoyHashes {
  readonly #key: Uint8Array
  /** Of one user each, cheapest first. */
  readonly #costs: readonly HashCost[]

  /** @param key - not known outside, or which name costs what could be foretold */
  constructor(users: Iterable<User>, key: Uint8Array) {
    this.#key = key
    this.#costs = Array.from(users, ({ hash }) => costOf(hash)).sort((a, b) => workOf(a) - workOf(b))
  }

  /** A hash that no password matches. */
  of(name: string): string {
    const share = createHmac('sha256', this.#key).update(name).digest().readUIntBE(0, 6) / RANGE
    return decoyHash(this.#costs[Math.floor(share * this.#costs.length)])
  }
}

const workOf = ({ cost, blockSize, parallel }: HashCost): number => cost * blockSize * parallel
