import { INVOKE_TOPIC, LIFE_TOPIC } from '../../core/protocol/topics.js'
import { ArgumentError, shown } from '../../core/util/errors.js'

/** MQTT 5.0, section 1.5.4, bytes; a filter of others than ASCII has fewer characters. */
const MOST = 65_535

/**
 * Where a broker says which clients are gone: a filter whose last `+` stands for the client id. What such a message holds is
 * not looked at.
 */
export class Departures {
  readonly filter: string
  readonly #levels: readonly string[]
  readonly #place: number

  /** Throws {@link ArgumentError} for what is no such filter. */
  constructor(filter: string) {
    const levels = typeof filter === 'string' ? filter.split('/') : []
    this.#place = levels.lastIndexOf('+')
    this.#levels = levels
    const isWhole = levels.every(level => level === '+' || !/[+#\0]/.test(level))
    const isOurs = [INVOKE_TOPIC, LIFE_TOPIC].some(topic => this.clientOf(topic) !== undefined)
    if (this.#place < 0 || !isWhole || isOurs || filter.length > MOST)
      throw new ArgumentError(
        `Expected \`disconnectEvents\` to be a topic filter with a \`+\` for the client id, like ` +
          `\`$SYS/brokers/+/clients/+/disconnected\`, got \`${shown(filter)}\``,
      )
    this.filter = filter
  }

  /** The client that a message to a topic is about; `undefined` if it is no message of that kind. */
  clientOf(topic: string): string | undefined {
    const levels = topic.split('/', this.#levels.length + 1)
    const isOne =
      levels.length === this.#levels.length && this.#levels.every((level, i) => level === '+' || level === levels[i])
    return isOne ? levels[this.#place] : undefined
  }
}
