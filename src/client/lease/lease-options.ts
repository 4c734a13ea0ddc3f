import { isWellFormed, randomBytes, toHex } from '../../core/util/bytes.js'
import { checkOptionNames, checkPositiveInteger, type OptionNames, type OtherNames } from '../../core/util/check.js'
import { ArgumentError, formatValue } from '../../core/util/errors.js'

/** How a lease is held. */
export interface LeaseOptions {
  /** ms after which a holder that is not heard of loses the lease. The store refuses no length: choose. */
  readonly duration: number
  /** ms between renewals; less than `duration`. Default a third of it, so that two may fail. */
  readonly renewEvery?: number | undefined
  /**
   * Who holds it, as others see it. Default the client id and a random part of each subscription. Two who say the same
   * hold it together: choose a name of your own only where it is certain that there is one of it.
   */
  readonly holder?: string | undefined
}

const LEASE_NAMES: OptionNames<LeaseOptions> = { duration: true, renewEvery: true, holder: true }
/** What others call them. */
const ELSEWHERE: OtherNames = { ttl: 'duration', leaseTime: 'duration', renewInterval: 'renewEvery', owner: 'holder' }

/** Checked {@link LeaseOptions}. */
export interface LeaseTerms {
  readonly duration: number
  readonly renewEvery: number
  readonly holder: string | undefined
}

/** Checks options before anything is sent. Throws {@link ArgumentError}. */
export function checkLeaseOptions(options: LeaseOptions): LeaseTerms {
  checkOptionNames('lease', options, LEASE_NAMES, ELSEWHERE)
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

/** A holder's name that neither another client has nor another lease of this one. */
export const uniqueHolder = (clientId: string): string => `${clientId}/${toHex(randomBytes(8)).toLowerCase()}`

function checkHolder(holder: string): void {
  if (typeof holder === 'string' && holder !== '' && isWellFormed(holder)) return
  throw new ArgumentError(
    `Expected \`holder\` to be a text of at least one character, got \`${formatValue(holder)}\` (${typeof holder})`,
  )
}
