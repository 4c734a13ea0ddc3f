import { once } from 'node:events'
import { createServer } from 'node:net'
import { ArgumentError } from '../core/util/errors.js'
import { type GivenOptions, type OptionKind, type OptionTable, port, text } from '../core/util/options.js'
import type { TlsMaterial } from '../node/net/tls.js'
import type { AttachedStore, SecurityOptions, StoreServer } from '../server/index.js'
import { type MetricsServer, serveMetrics } from '../server/metrics/index.js'
import { checkMetricsAccess } from '../server/metrics/metrics-server.js'
import { readOrCreateToken, readToken } from './console-client.js'
import { cannotListen } from './console-flags.js'
import { EXIT, Failure } from './failure.js'
import { refuseOthers } from './flags.js'
import { read } from './login-methods.js'
import type { Reloads } from './reloaded-files.js'

const DEFAULT_ADDRESS = '127.0.0.1:9464'

/** Kind of `host:port`, `[address]:port`, `:port` or `port`, which a settings file may give as an integer. */
const address: OptionKind<string | number> = {
  ...text('[host:port]'),
  expected: 'a port, or an address and a port, such as 0.0.0.0:9464',
  schema: { anyOf: [{ type: 'string' }, port.schema] },
  is: (value): value is string | number =>
    (typeof value === 'string' || typeof value === 'number') && addressOf(value) !== undefined,
  read: value => value,
}

const METRICS_DETAILS = {
  metricsTokenFile: {
    kind: text('<file>'),
    help: 'file with the token of the metrics; created if missing and read again when it changes; required with logins or a policy, or for other machines',
  },
} satisfies OptionTable

export const METRICS = {
  metrics: {
    kind: address,
    preset: DEFAULT_ADDRESS,
    help: `serve metrics for Prometheus and health checks, on ${DEFAULT_ADDRESS} by default`,
  },
  ...METRICS_DETAILS,
} satisfies OptionTable

export type MetricsFlags = GivenOptions<typeof METRICS>

/** Throws {@link Failure} for flags of metrics without --metrics. */
export function checkMetricsFlags(flags: MetricsFlags): void {
  if (flags.metrics === undefined) refuseOthers(METRICS_DETAILS, flags, '--metrics')
}

/** Throws {@link Failure} if others could read the metrics of a store with these options. Creates no token file. */
export function checkMetricsAccessOf(
  { metrics, metricsTokenFile: file }: MetricsFlags,
  { authenticate, policy }: SecurityOptions,
): void {
  if (metrics === undefined) return
  if (file !== undefined) {
    readToken(file, '--metrics-token-file')
    return
  }
  const hasAccessControl = authenticate !== undefined || policy !== undefined
  try {
    checkMetricsAccess({ hasAccessControl }, { ...addressOf(metrics) })
  } catch (cause) {
    if (!(cause instanceof ArgumentError)) throw cause
    throw new Failure(EXIT.usage, cause.message.replace('`token`', '--metrics-token-file'), { cause })
  }
}

/**
 * Returns the token of the metrics, whose file is created if it is missing; undefined without a file. Rejects with
 * {@link Failure}, also if the port is in use. Call it before the store opens, because an open store admits clients.
 */
export async function prepareMetrics(flags: MetricsFlags, security: SecurityOptions): Promise<string | undefined> {
  checkMetricsAccessOf(flags, security)
  const { metrics, metricsTokenFile: file } = flags
  if (metrics !== undefined) await checkPort(addressOf(metrics))
  return file === undefined ? undefined : readOrCreateToken(file, '--metrics-token-file')
}

/** Serves a store's metrics if flags request them. Rejects with {@link Failure}. */
export async function startMetrics(
  store: StoreServer | AttachedStore,
  { metrics }: MetricsFlags,
  options: { readonly token: string | undefined; readonly tls?: TlsMaterial | undefined },
): Promise<MetricsServer | undefined> {
  if (metrics === undefined) return undefined
  try {
    return await serveMetrics(store, { ...addressOf(metrics), ...options })
  } catch (cause) {
    if (cause instanceof ArgumentError) throw new Failure(EXIT.usage, cause.message, { cause })
    throw cannotListen(cause, () => '--metrics')
  }
}

/** Returns the function that reads the token of running metrics again, if it is in a file. */
export function metricsReloads(metrics: MetricsServer | undefined, { metricsTokenFile: file }: MetricsFlags): Reloads {
  if (metrics === undefined || file === undefined) return new Map()
  return new Map([[file, () => metrics.setToken(read(file).trim())]])
}

/** Rejects with {@link Failure} if nothing can listen on the address at the moment. */
async function checkPort(address: ReturnType<typeof addressOf>): Promise<void> {
  const server = createServer()
  try {
    server.listen(address)
    await once(server, 'listening')
  } catch (cause) {
    throw cannotListen(cause, () => '--metrics')
  }
  server.close()
  await once(server, 'close')
}

function addressOf(value: string | number): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, name, digits = ''] = /^(?:(?:\[([^\]]+)\]|([^:]*)):)?(\d+)$/.exec(String(value)) ?? []
  const number = Number(digits)
  if (digits === '' || !port.is(number)) return undefined
  return { host: bracketed ?? (name || '127.0.0.1'), port: number }
}
