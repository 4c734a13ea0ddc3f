import type { Command } from 'commander'
import { formatUrl } from '../core/util/format-url.js'
import { optionsOf, PROBE_PREFIX, urlsOf } from './connection.js'
import { type CheckResult, CLIENT_PREFIX, checkEndToEnd } from './end-to-end-check.js'
import { CheckFailure, type CheckState } from './failure.js'
import { addConnectionFlags, type ConnectionFlags, DEFAULT_TIMEOUT, duration } from './flags.js'
import { addHelp } from './help.js'
import { type Io, print } from './io.js'
import { jsonLine } from './json.js'
import { colorsFor, oneLine, table } from './terminal.js'

interface ProbeFlags extends ConnectionFlags {
  readonly warn?: number
}

const HELP = `
Publishes and receives a message, and sets, reads, watches and deletes a key.
Prints the time of each step; notify is the notification of the deletion. Topic
and key begin with ${PROBE_PREFIX} and have a random name. The key
expires after --timeout. Exit codes and output are those of a monitoring plugin
(Nagios, Icinga): 0 ok, 1 slower than --warn, 2 failed, 3 wrong arguments.

Connects twice: with the id --client-id (else ${CLIENT_PREFIX} and a random
part), and with that id followed by -messages. Clients with the same id
disconnect each other, so AIO_MQTT_CLIENT_ID, the id of an application, is not
used, and checks that run at the same time need different ids. If the store has
a policy, a user for checks needs these rights:
  brokerResources:
  - { method: Connect, clientIds: ["${CLIENT_PREFIX}*"] }
  - { method: Publish, topics: ["${PROBE_PREFIX}+"] }
  - { method: Subscribe, topics: ["${PROBE_PREFIX}+"] }
  stateStoreResources:
  - { method: ReadWrite, keyType: Pattern, keys: ["${PROBE_PREFIX}*"] }

Examples:
  $ rx-statestore probe
  $ rx-statestore probe mqtts://10.0.0.5:8883 --ca ca.pem --warn 500ms
  $ rx-statestore probe --json`

export function addProbe(program: Command, io: Io): void {
  const command = program.command('probe').summary('check a store end to end, for monitors')
  command.description('Checks a store end to end, with the exit codes of monitoring plugins.')
  command.argument('[url]', 'broker (else --url)')
  command.option('--warn <time>', 'exit with code 1 if the check takes longer', duration)
  addConnectionFlags(command, false, { timeout: 'the whole check' })
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (url: string | undefined) => {
    const flags = command.optsWithGlobals<ProbeFlags>()
    await run(urlsOf(url === undefined ? flags : { ...flags, url }, io), flags, io)
  })
}

async function run(urls: readonly string[], flags: ProbeFlags, io: Io): Promise<void> {
  const { timeout = DEFAULT_TIMEOUT, warn } = flags
  const connection = { ...optionsOf(flags, io), clientId: flags.clientId }
  const result = await checkEndToEnd({ urls, connection, timeout }, io.clock)
  const limits = { timeout, warn }
  const report: Report = { ...result, broker: urls.map(formatUrl).join(' or '), status: statusOf(result, warn), limits }
  const failure = report.status === 'ok' ? undefined : new CheckFailure(report.status)
  // The exit code has the result even if no program reads the output.
  await print(io.stdout, flags.json ? asJson(report) : inWords(report, io)).catch((error: unknown) => {
    throw failure ?? error
  })
  if (failure !== undefined) throw failure
}

interface Report extends CheckResult {
  readonly broker: string
  readonly status: CheckState
  /** All times in ms. */
  readonly limits: { readonly timeout: number; readonly warn: number | undefined }
}

function statusOf({ failed, totalMs }: CheckResult, warn: number | undefined): CheckState {
  if (failed !== undefined) return 'critical'
  return warn !== undefined && totalMs > warn ? 'warning' : 'ok'
}

const asJson = ({ status, broker, totalMs, steps, failed }: Report): string =>
  jsonLine({ status, broker, totalMs, steps, ...(failed && { failedStep: failed.step, error: failed.error }) })

/** The first line is for the list of a monitor, whose performance data follows the bar. */
function inWords(report: Report, io: Io): string {
  const colors = colorsFor(io.stdout, io.env)
  const { green, yellow, red } = colors
  const { status, steps, failed } = report
  const color = { ok: green, warning: yellow, critical: red }[status]
  const first = `${color(status.toUpperCase())}: ${oneLine(summaryOf(report)).replaceAll('|', '/')}`
  const rows = steps.map(({ step, ms }) => [step, `${ms.toFixed(1).padStart(7)} ms`] as const)
  const lines = table(failed === undefined ? rows : [...rows, [failed.step, ' failed']], colors)
  return `${first}${io.stdout.isTTY ? '' : performanceData(report)}\n${lines}`
}

function summaryOf({ status, broker, totalMs, failed, limits }: Report): string {
  if (failed !== undefined) return `${broker}, ${failed.step}: ${failed.error}`
  const slow = status === 'warning' ? `, which is more than ${limits.warn} ms` : ''
  return `${broker} passed all steps in ${totalMs} ms${slow}`
}

/** Returns the times in the format of monitoring plugins: name, value, warning and critical limit, minimum. */
const performanceData = ({ totalMs, steps, limits: { warn, timeout } }: Report): string =>
  [` | total=${totalMs}ms;${warn ?? ''};${timeout};0`, ...steps.map(({ step, ms }) => `${step}=${ms}ms;;;0`)].join(' ')
