import { checkPositiveInteger } from '../base/check.js'
import { ArgumentError } from '../base/errors.js'
import { defaultMaxBytes } from './memory.js'

/** Options of `serve` about how much there may be. */
export interface QuotaOptions {
  /**
   * Most that keys and everything that waits may take together, bytes: three fifths are for keys (`maxBytes`), two fifths for
   * what waits (`maximumBufferedBytes`), unless one of these is given, which leaves the rest for the other. What is over is
   * refused. It is an account, of which Node needs about as much again. Default: as these two are.
   */
  readonly maxMemory?: number | undefined
  /**
   * Most the store keeps, bytes: keys, values, watched keys, and some 600 bytes besides each of them. What needs more is
   * refused with `quota-exceeded`; deletes and smaller values never are. Default 1 GiB, or half of the heap that Node
   * may use, or a quarter of the memory of this machine or container, whichever is least.
   */
  readonly maxBytes?: number
  /**
   * What the broker may hold for all clients together, bytes: messages that are unsent, unacknowledged or retained, packets
   * that are not complete. What is over is refused, and the client with the most is cut off. Default 512 MiB.
   */
  readonly maximumBufferedBytes?: number
  /** Most connections, also of those who have not said who they are; one more is cut at once. Default 50,000. */
  readonly maxConnections?: number
  /** Most connections from one address; this machine may have any number. Default 1,000. */
  readonly maxConnectionsPerAddress?: number
  /** Most connections of one principal; one more is told so (CONNACK 151). Default 10,000. */
  readonly maxConnectionsPerPrincipal?: number
}

const DEFAULT_BUFFERED_BYTES = 512 * 1024 * 1024
const KEYS_SHARE = 3 / 5

/** Options with their defaults. Throws {@link ArgumentError}. */
export function checkQuotas(options: QuotaOptions): Required<QuotaOptions> {
  const { maxMemory, maxConnections = 50_000 } = options
  const { maxConnectionsPerAddress = 1_000, maxConnectionsPerPrincipal = 10_000 } = options
  checkPositiveInteger('maxConnections', maxConnections)
  checkPositiveInteger('maxConnectionsPerAddress', maxConnectionsPerAddress)
  checkPositiveInteger('maxConnectionsPerPrincipal', maxConnectionsPerPrincipal)
  if (maxMemory !== undefined) checkPositiveInteger('maxMemory', maxMemory)
  const { maxBytes, maximumBufferedBytes } = shares(options)
  checkPositiveInteger('maxBytes', maxBytes)
  checkPositiveInteger('maximumBufferedBytes', maximumBufferedBytes)
  if (maxMemory !== undefined && maxBytes + maximumBufferedBytes > maxMemory) {
    const sum = `${maxBytes} + ${maximumBufferedBytes}`
    throw new ArgumentError(`Expected \`maxBytes\` and \`maximumBufferedBytes\` within \`maxMemory\`, got ${sum}`)
  }
  const connections = { maxConnections, maxConnectionsPerAddress, maxConnectionsPerPrincipal }
  return { maxMemory, maxBytes, maximumBufferedBytes, ...connections }
}

function shares({ maxMemory, maxBytes, maximumBufferedBytes }: QuotaOptions) {
  if (maxMemory === undefined) {
    return {
      maxBytes: maxBytes ?? defaultMaxBytes(),
      maximumBufferedBytes: maximumBufferedBytes ?? DEFAULT_BUFFERED_BYTES,
    }
  }
  const rest =
    maximumBufferedBytes === undefined ? Math.floor(KEYS_SHARE * maxMemory) : maxMemory - maximumBufferedBytes
  const keys = maxBytes ?? rest
  return { maxBytes: keys, maximumBufferedBytes: maximumBufferedBytes ?? maxMemory - keys }
}
