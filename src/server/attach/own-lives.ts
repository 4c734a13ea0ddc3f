import { toHex } from '../../core/util/bytes.js'
import { randomBytes } from '../../core/util/random.js'

const MOST = 100

/** Lives that a store has announced, of which a broker may repeat old ones late; the newest are kept. */
export class OwnLives {
  readonly #lives = new Set<string>()

  /** A new one. */
  next(): string {
    const life = toHex(randomBytes(8)).toLowerCase()
    this.#lives.add(life)
    const [oldest] = this.#lives
    if (this.#lives.size > MOST && oldest !== undefined) this.#lives.delete(oldest)
    return life
  }

  /** Whether a life was one of them. */
  has(life: string): boolean {
    return this.#lives.has(life)
  }
}
