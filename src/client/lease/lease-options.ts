import { isWellFormed, randomBytes, toHex } from '../../core/util/bytes.js'
import {
  checkArgument,
  checkOptionNames,
  checkPositiveInteger,
  type ForeignOptionNames,
  type OptionNames,
} from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'

/** Options of {@link lease}. */
export interface LeaseOptions {
  /** Time after which the lease expires unless it is renewed, ms; at least 2, typically a few thousand. */
  readonly duration: number
  /**
   * Interval between renewals in ms, less than `duration`. Default: a third of `duration`, so that two renewals may
   * fail.
   */
  readonly renewEvery?: number | undefined
  /**
   * Holder name, visible to all clients. Default: the client id and a random part per subscription. Subscribers with
   * the same name hold the lease simultaneously, so set a name only if it is certainly unique.
   */
  readonly holder?: string | undefined
}

const LEASE_NAMES: OptionNames<LeaseOptions> = { duration: true, renewEvery: true, holder: true }
const ALIASES: ForeignOptionNames = {
  ttl: 'duration',
  leaseTime: 'duration',
  renewInterval: 'renewEvery',
  owner: 'holder',
}

export interface LeaseSettings {
  readonly duration: number
  readonly renewEvery: number
  readonly holder: string | undefined
}

export function checkLeaseOptions(options: LeaseOptions): LeaseSettings {
  checkOptionNames('lease', options, LEASE_NAMES, ALIASES)
  const { duration, holder } = options
  checkPositiveInteger('duration', duration)
  if (duration < 2) throw new ArgumentError('Expected `duration` to be at least 2 ms, or there is no time to renew')
  const { renewEvery = Math.ceil(duration / 3) } = options
  checkPositiveInteger('renewEvery', renewEvery)
  if (renewEvery >= duration) {
    throw new ArgumentError(
      `Expected \`renewEvery\` to be less than \`duration\`, got \`${renewEvery}\` and \`${duration}\` (ms)`,
    )
  }
  if (holder !== undefined) checkHolder(holder)
  return { duration, renewEvery, holder }
}

export const uniqueHolder = (clientId: string): string => `${clientId}/${toHex(randomBytes(8)).toLowerCase()}`

function checkHolder(holder: string): void {
  checkArgument(
    typeof holder === 'string' && holder !== '' && isWellFormed(holder),
    '`holder` to be a text of at least one character',
    holder,
  )
}
