import { hostname } from 'node:os'
import type { Command } from 'commander'
import { lease } from '../client/lease/index.js'
import { randomBytes, toHex } from '../core/util/bytes.js'
import { isPermanentEnd, open, refused } from './connection.js'
import { EXIT, Failure } from './failure.js'
import { addConnectionFlags, type ConnectionFlags, duration } from './flags.js'
import { addHelp } from './help.js'
import type { Io } from './io.js'
import { type LockRunOptions, runLocked } from './lock-run.js'

interface LockFlags extends ConnectionFlags {
  readonly duration?: number
  readonly renewEvery?: number
  readonly holder?: string
  readonly wait: boolean
  readonly waitTimeout?: number
  readonly grace?: number
}

const DEFAULT_DURATION = 10_000
const DEFAULT_GRACE = 5_000

const HELP = `
Waits for the lock, runs the command while holding it, and releases it when the
command ends. The command shares the standard streams, and gets the variables
RX_STATESTORE_LOCK (the name of the lock) and RX_STATESTORE_FENCING_TOKEN (for
'set --fencing-token' and other resources that reject late writes).

If the lock is lost, because it could not be renewed or was deleted, the command
and its child processes get SIGTERM, then SIGKILL. Signals are forwarded to
them; they run in a separate process group without a controlling terminal. If
this process is killed or stopped, the command continues: only the fencing token
protects against that.

Exit code: that of the command; 128+n if a signal ended it, 127 if it was not
found, 126 if it cannot be run; 3 if another holder has the lock, 4 if it was
lost. Messages are printed to stderr, and only for problems.

Examples:
  $ rx-statestore lock nightly-report -- ./report.sh
  $ rx-statestore lock deploy --no-wait --holder "$USER@$(hostname)/$$" -- make deploy
  $ rx-statestore lock line1-lock -- sh -c 'rx-statestore set a 1 --fencing-token "$RX_STATESTORE_FENCING_TOKEN"'`

export function addLock(program: Command, io: Io): void {
  const command = program.command('lock').summary('run a command while holding a lock')
  command.description('Runs a command while holding a lock.').usage('[options] <name> -- <command> [args...]')
  command.argument('<name>', 'key of the lock').argument('<command...>', 'command and its arguments, after --')
  command.option('--duration <time>', 'time until the lock expires if this process dies (10s)', duration)
  command.option('--renew-every <time>', 'time between renewals (a third of the duration)', duration)
  command.option('--holder <name>', 'name of the holder; must be unique (host name and random part)')
  command.option('--no-wait', 'exit with code 3 if another holder has the lock')
  command.option('--wait-timeout <time>', 'exit with code 3 if the lock is not acquired in time', duration)
  command.option('--grace <time>', 'time between SIGTERM and SIGKILL when the lock is lost (5s)', duration)
  addConnectionFlags(command, false)
  addHelp(command, io.stdout, { text: HELP })
  command.action(async (name: string, commandLine: readonly string[]) => {
    await lock(name, commandOf(commandLine, program), command.optsWithGlobals<LockFlags>(), io)
  })
}

/**
 * Returns the command after `--`, which is required because flags of the command could be taken for flags of `lock`.
 */
function commandOf(commandLine: readonly string[], { args }: Command): readonly [string, ...string[]] {
  const [command, ...rest] = commandLine
  const separator = args.indexOf('--')
  if (command !== undefined && separator >= 0 && commandLine.length === args.length - separator - 1)
    return [command, ...rest]
  throw new Failure(EXIT.usage, 'put -- between the name of the lock and the command')
}

async function lock(
  name: string,
  commandLine: readonly [string, ...string[]],
  flags: LockFlags,
  io: Io,
): Promise<void> {
  const connection = open(flags, io)
  try {
    const line = lease(connection.store, name, leaseOptions(flags))
    const code = await runLocked(line, commandLine, runOptionsOf(flags, connection.timeout), { connection, io })
    if (code !== EXIT.done) throw new Failure(code, '')
  } catch (error) {
    throw isPermanentEnd(error) ? refused(connection.broker, error) : error
  } finally {
    await connection.store.close()
  }
}

const leaseOptions = ({ duration = DEFAULT_DURATION, renewEvery, holder = randomHolder() }: LockFlags) => ({
  duration,
  holder,
  ...(renewEvery !== undefined && { renewEvery }),
})

const randomHolder = (): string => `${hostname()}/${toHex(randomBytes(6)).toLowerCase()}`

// With --no-wait, the timeout of requests also limits the time to reach the broker.
const runOptionsOf = (
  { wait, waitTimeout, grace = DEFAULT_GRACE, json }: LockFlags,
  timeout: number,
): LockRunOptions => ({
  waits: wait,
  acquireTimeout: waitTimeout ?? (wait ? undefined : timeout),
  grace,
  json: json === true,
})
