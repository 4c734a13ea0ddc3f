import { readFileSync } from 'node:fs'
import { reason } from '../core/util/errors.js'
import { certificates, type Method, Passwords, Tokens } from '../server/index.js'
import { clientCaOf, type MethodSettings, readAuthenticationFile } from './authentication-file.js'
import { EXIT, Failure } from './failure.js'

/** Flags that say how clients prove who they are. */
export interface LoginFlags {
  readonly authentication?: string
  readonly passwordFile?: string
  readonly tlsClientCa?: string
  readonly jwks?: string
  readonly audience?: readonly string[]
}

/** The methods that flags and files ask for. */
export interface LoginMethods {
  readonly methods: readonly Method[]
  /** File of the authorities of client certificates. */
  readonly clientCa: string | undefined
  /** Files that are read again when they change, and what is done then. */
  readonly reloads: ReadonlyMap<string, () => void>
}

/** Throws {@link Failure} for what makes no sense and what cannot be read. */
export function loginMethods(flags: LoginFlags): LoginMethods {
  const { authentication } = flags
  const fromFile =
    authentication === undefined ? [] : named(authentication, () => readAuthenticationFile(authentication))
  const settings = [...fromFile, ...fromFlags(flags)]
  const reloads = new Map<string, () => void>()
  const methods = settings.map(each => methodOf(each, reloads))
  return { methods, clientCa: named('authentication', () => clientCaOf(settings)), reloads }
}

function* fromFlags({ tlsClientCa, jwks, audience, passwordFile }: LoginFlags): Iterable<MethodSettings> {
  if (tlsClientCa !== undefined) yield { method: 'X509', clientCa: tlsClientCa, attributes: [] }
  if ((jwks === undefined) !== (audience === undefined))
    throw new Failure(EXIT.usage, 'tokens need both --jwks and --audience')
  if (jwks !== undefined && audience !== undefined)
    yield { method: 'ServiceAccountToken', jwks, audiences: audience, issuer: undefined }
  if (passwordFile !== undefined) yield { method: 'Password', file: passwordFile }
}

function methodOf(settings: MethodSettings, reloads: Map<string, () => void>): Method {
  if (settings.method === 'X509') return certificates(settings.attributes)
  if (settings.method === 'Password') {
    const { file } = settings
    const passwords = named(file, () => new Passwords(read(file)))
    reloads.set(file, () => passwords.load(read(file)))
    return passwords.method
  }
  const { jwks, audiences, issuer } = settings
  const isAddress = /^https?:/.test(jwks)
  const tokens = named(jwks, () => new Tokens({ jwks: isAddress ? jwks : read(jwks), audiences, issuer }))
  if (!isAddress) reloads.set(jwks, () => tokens.load(read(jwks)))
  return tokens.method
}

/** The text of a file. Throws {@link Failure}. */
export function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Failure(EXIT.usage, `cannot read ${path}: ${reason(cause)}`, { cause })
  }
}

/** Does what throws, and says about which file. */
export function named<T>(path: string, task: () => T): T {
  try {
    return task()
  } catch (cause) {
    throw cause instanceof Failure ? cause : new Failure(EXIT.usage, `${path}: ${reason(cause)}`, { cause })
  }
}
