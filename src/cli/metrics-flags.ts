import { ArgumentError } from '../core/util/errors.js'
import { type GivenOptions, type OptionKind, type OptionTable, port, text } from '../core/util/options.js'
import type { TlsMaterial } from '../node/net/tls.js'
import type { StoreServer } from '../server/index.js'
import { type MetricsServer, serveMetrics } from '../server/metrics/index.js'
import { readOrCreateToken } from './console-client.js'
import { cannotListen } from './console-flags.js'
import { EXIT, Failure } from './failure.js'
import { refuseOthers } from './flags.js'

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
    help: 'file with the token of the metrics; created if missing; required with logins or a policy, or for other machines',
  },
} satisfies OptionTable

export const METRICS = {
  metrics: {
    kind: address,
    preset: DEFAULT_ADDRESS,
    help: `serve metrics for Prometheus and health checks too, on ${DEFAULT_ADDRESS} by default`,
  },
  ...METRICS_DETAILS,
} satisfies OptionTable

export type MetricsFlags = GivenOptions<typeof METRICS>

/** Throws {@link Failure} for flags of metrics without --metrics. */
export function checkMetricsFlags(flags: MetricsFlags): void {
  if (flags.metrics === undefined) refuseOthers(METRICS_DETAILS, flags, '--metrics')
}

/** Serves the metrics of a store if flags request them. Rejects with {@link Failure}. */
export async function startMetrics(
  store: StoreServer,
  { metrics, metricsTokenFile: file }: MetricsFlags,
  tls: TlsMaterial | undefined,
): Promise<MetricsServer | undefined> {
  if (metrics === undefined) return undefined
  const token = file === undefined ? undefined : await readOrCreateToken(file, '--metrics-token-file')
  try {
    return await serveMetrics(store, { ...addressOf(metrics), token, tls })
  } catch (cause) {
    if (cause instanceof ArgumentError) {
      const message = token === undefined ? cause.message.replace('`token`', '--metrics-token-file') : cause.message
      throw new Failure(EXIT.usage, message, { cause })
    }
    throw cannotListen(cause, () => '--metrics')
  }
}

function addressOf(value: string | number): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, name, digits = ''] = /^(?:(?:\[([^\]]+)\]|([^:]*)):)?(\d+)$/.exec(String(value)) ?? []
  const number = Number(digits)
  if (digits === '' || !port.is(number)) return undefined
  return { host: bracketed ?? (name || '127.0.0.1'), port: number }
}
