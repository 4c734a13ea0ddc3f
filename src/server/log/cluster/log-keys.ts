import { createHmac, timingSafeEqual } from 'node:crypto'
import { toHex, utf8 } from '../../../core/util/bytes.js'

/** Of a signature, bytes: half of a SHA-256, which nobody finds by trying. */
export const SIGNATURE_BYTES = 16

/**
 * Keys that the nodes of a store share, and nobody else has: the first one signs, each of them verifies, so that a key can be
 * replaced while nodes run. They are bound to the name of the store: what is signed for one log says nothing in another.
 */
export class LogKeys {
  readonly #keys: readonly [Uint8Array, ...Uint8Array[]]
  readonly #fingerprints: readonly [string, ...string[]]

  /** @param name - of the store */
  constructor([first, ...others]: readonly [Uint8Array, ...Uint8Array[]], name: string) {
    const own = (key: Uint8Array): Uint8Array => hmac(key, utf8(`rx-statestore log ${name}`))
    this.#keys = [own(first), ...others.map(own)]
    const [signing, ...older] = this.#keys
    this.#fingerprints = [fingerprintOf(signing), ...older.map(fingerprintOf)]
  }

  /** By which the key that signs is known; it does not give it away. */
  get fingerprint(): string {
    return this.#fingerprints[0]
  }

  /** Whether one of the keys has such a fingerprint. */
  knows(fingerprint: string): boolean {
    return this.#fingerprints.includes(fingerprint)
  }

  sign(...parts: readonly Uint8Array[]): Uint8Array {
    return hmac(this.#keys[0], ...parts).subarray(0, SIGNATURE_BYTES)
  }

  /** The fingerprint of the key that has signed something; `undefined` when none of these has. */
  signerOf(signature: Uint8Array, ...parts: readonly Uint8Array[]): string | undefined {
    const at = this.#keys.findIndex(key => timingSafeEqual(hmac(key, ...parts).subarray(0, SIGNATURE_BYTES), signature))
    return this.#fingerprints[at]
  }
}

function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  const mac = createHmac('sha256', key)
  for (const part of parts) mac.update(part)
  return mac.digest()
}

const fingerprintOf = (key: Uint8Array): string => toHex(hmac(key, utf8('fingerprint')).subarray(0, 8)).toLowerCase()
