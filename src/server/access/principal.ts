import { ArgumentError, shown } from '../../core/util/errors.js'

/** Who a client is, once it has proved it. */
export interface Principal {
  /** What a policy calls `usernames`; without it only attributes and client ids can give rights. */
  readonly username?: string | undefined
  /** What a policy calls `attributes`; default none. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
  /** What tells it from everybody else: sessions belong to it. Default the user name; one with attributes needs either. */
  readonly id?: string | undefined
  /** When it has to prove itself anew, or its connection ends, ms since the Unix epoch. Default never. */
  readonly expiresAt?: number | undefined
}

/** Somebody who proved nothing. */
export const ANYBODY: Principal = {}

/** Whom sessions belong to; the same for all who proved nothing. */
export const ownerOf = ({ id, username }: Principal): string =>
  (id ?? username) === undefined ? '' : `is ${id ?? username}`

/** Throws {@link ArgumentError} for what an `authenticate` function must not return. */
export function checkPrincipal(principal: unknown): asserts principal is Principal {
  if (typeof principal !== 'object' || principal === null) throw wrong('principal', 'an object', principal)
  const { username, attributes, id, expiresAt }: { [K in keyof Principal]?: unknown } = principal
  for (const [name, value] of Object.entries({ username, id })) {
    if (value !== undefined && (typeof value !== 'string' || value === '')) throw wrong(name, 'a text', value)
  }
  if (expiresAt !== undefined && !Number.isFinite(expiresAt)) throw wrong('expiresAt', 'a number of ms', expiresAt)
  if (attributes === undefined) return
  if (username === undefined && id === undefined)
    throw new ArgumentError(
      'Expected a principal with attributes to have a `username` or an `id`: sessions belong to it',
    )
  if (typeof attributes !== 'object' || attributes === null) throw wrong('attributes', 'an object of texts', attributes)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value !== 'string') throw wrong(`attributes.${name}`, 'a text', value)
  }
}

const wrong = (name: string, expected: string, value: unknown): ArgumentError =>
  new ArgumentError(`Expected \`${name}\` of a principal to be ${expected}, got \`${shown(value)}\` (${typeof value})`)
