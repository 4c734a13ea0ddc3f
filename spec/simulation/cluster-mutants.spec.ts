import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Entry } from '../../src/server/engine/entry.js'
import type { Envelope } from '../../src/server/log/cluster/envelope.js'
import type { Arrival } from '../../src/server/log/cluster/members.js'
import type { Replica } from '../../src/server/log/cluster/replica.js'
import type { LogSettings, ReplicatedHost } from '../../src/server/log/cluster/settings.js'
import type { Stream } from '../../src/server/log/cluster/stream.js'
import type { Log, LogListener } from '../../src/server/log/log.js'
import type { SequencerHost } from '../../src/server/service/sequencer.js'
import type { ClusterSabotage } from './cluster-node.js'
import { clusterScheduleOf } from './cluster-schedule.js'
import { simulateCluster } from './cluster-world.js'

/** What the shipped code is to leave out. */
type Safeguard =
  | 'dedupe'
  | 'order'
  | 'lives'
  | 'commit first'
  | 'time of the log'
  | 'position of snapshots'
  | 'digest'
  | 'expiry by the log'
  | 'telling of others'
  | 'gaps of the feed'
  | 'checksums of snapshots'

const off = vi.hoisted(() => ({ safeguard: undefined as string | undefined }))
const without = (safeguard: Safeguard): boolean => off.safeguard === safeguard

vi.mock('../../src/server/log/cluster/members.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/server/log/cluster/members.js')>()
  class Members extends original.Members {
    override take(envelope: Envelope, arrival: Arrival): boolean {
      const row = this.get(envelope.node)
      const { life, number, kind } = envelope
      if (kind === 'start') {
        const replaces = without('lives') ? (row?.life ?? '') : envelope.replaces
        return super.take({ ...envelope, replaces }, arrival)
      }
      const isDouble = without('dedupe') && row?.life === life && number < row.next
      const isGap = without('order') && row?.life === life && number > row.next
      if (isDouble) return true
      if (isGap) Object.assign(row, { next: number })
      return super.take(envelope, arrival)
    }
  }
  return { ...original, Members }
})

vi.mock('../../src/server/log/cluster/replica.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/server/log/cluster/replica.js')>()
  class Replica extends original.Replica {
    override judge(message: Parameters<typeof original.Replica.prototype.judge>[0]) {
      if (without('digest')) this.digest.at = () => undefined
      return super.judge(message)
    }

    override encode(): Uint8Array {
      const bytes = super.encode()
      if (without('position of snapshots')) {
        const view = new DataView(bytes.buffer, bytes.byteOffset)
        view.setFloat64(0, view.getFloat64(0) + 1)
      }
      return bytes
    }
  }
  return { ...original, Replica }
})

vi.mock('../../src/server/log/cluster/replicated-log.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/server/log/cluster/replicated-log.js')>()
  class ReplicatedLog extends original.ReplicatedLog {
    readonly #clock: ReplicatedHost['clock']
    #told: LogListener | undefined

    constructor(stream: Stream, replica: Replica, settings: LogSettings, host: ReplicatedHost) {
      super(stream, replica, settings, host)
      this.#clock = host.clock
    }

    override listen(listener: LogListener): void {
      this.#told = listener
      const timed = (entry: Entry): Entry =>
        without('time of the log') ? { ...entry, time: this.#clock.now() } : entry
      super.listen({
        committed: entry => {
          if (!without('commit first')) listener.committed(timed(entry))
        },
        foreign: entry => listener.foreign?.(timed(entry)),
        rejected: (entry, failure) => listener.rejected(entry, failure),
      })
    }

    override append(entry: Entry): void {
      super.append(entry)
      if (without('commit first')) this.#told?.committed(entry)
    }
  }
  return { ...original, ReplicatedLog }
})

vi.mock('../../src/server/log/cluster/follower.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/server/log/cluster/follower.js')>()
  class Follower extends original.Follower {
    constructor(...[stream, host]: ConstructorParameters<typeof original.Follower>) {
      super(stream, {
        ...host,
        take: message => {
          // What was trimmed is taken for nothing.
          const position = without('gaps of the feed')
            ? Math.min(message.position, host.position() + 1)
            : message.position
          host.take({ ...message, position })
        },
      })
    }
  }
  return { ...original, Follower }
})

vi.mock('node:zlib', async importOriginal => {
  const original = await importOriginal<typeof import('node:zlib')>()
  return {
    ...original,
    crc32: (...of: Parameters<typeof original.crc32>) =>
      without('checksums of snapshots') ? 0 : original.crc32(...of),
  }
})

vi.mock('../../src/server/service/sequencer.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/server/service/sequencer.js')>()
  class Sequencer extends original.Sequencer {
    readonly #host: SequencerHost

    constructor(log: Log, host: SequencerHost) {
      super(log, host)
      this.#host = host
    }

    override tick(owner?: object): void {
      if (!without('expiry by the log')) {
        super.tick(owner)
        return
      }
      const { now, room, expired } = this.#host
      const entry = { time: now.call(this.#host), ...room.call(this.#host), commands: [] }
      this.#host.apply(entry, {
        expired: changes => expired.call(this.#host, changes),
        answered: () => undefined,
        loaded: () => undefined,
      })
      this.#host.settled(undefined)
    }

    override foreign(entry: Entry): void {
      if (!without('telling of others')) {
        super.foreign(entry)
        return
      }
      this.#host.apply(entry, { expired: () => undefined, answered: () => undefined, loaded: () => undefined })
      this.#host.settled(undefined)
    }
  }
  return { ...original, Sequencer }
})

const MOST_SCHEDULES = 4_000

/** The first complaints that the oracle has within so many schedules; `undefined` if it never has any. */
function complaints(safeguard: Safeguard | undefined, sabotage?: ClusterSabotage): readonly string[] | undefined {
  off.safeguard = safeguard
  for (let seed = 1; seed <= MOST_SCHEDULES; seed++) {
    const { violations } = simulateCluster(clusterScheduleOf(seed), sabotage)
    if (violations.length > 0) {
      console.info(`${safeguard ?? sabotage} (seed ${seed}): ${violations[0]}`)
      return violations
    }
  }
  return undefined
}

describe('where nodes share a log, the oracle objects', { timeout: 240_000 }, () => {
  afterEach(() => {
    off.safeguard = undefined
  })

  it.each<[string, Safeguard]>([
    ['an entry is applied each time it comes', 'dedupe'],
    ['an entry is applied before one that its node sent earlier', 'order'],
    ['a life begins that was replaced long ago', 'lives'],
    ['an entry is applied before the log has it', 'commit first'],
    ['a node applies entries by its own clock', 'time of the log'],
    ['a snapshot says a position behind what is in it', 'position of snapshots'],
    ['keys expire by the clock of a node', 'expiry by the log'],
    ['watchers are not told what was changed at other nodes', 'telling of others'],
    ['a node goes on behind a gap', 'gaps of the feed'],
    ['a damaged snapshot is taken for good', 'checksums of snapshots'],
  ])('when %s', (_, safeguard) => {
    expect(complaints(safeguard)).toBeDefined()
  })

  it('when local reads are sold as linearizable', () => {
    expect(complaints(undefined, 'local reads')?.join()).toContain('answered before it was asked')
  })

  it('when an engine errs and nobody compares digests', () => {
    expect(complaints('digest', 'an engine that errs')?.join()).toContain('nobody found out')
  })
})

it('finds an engine that errs out by digests', { timeout: 60_000 }, () => {
  off.safeguard = undefined
  for (let seed = 1; seed <= 200; seed++)
    expect(simulateCluster(clusterScheduleOf(seed), 'an engine that errs').violations).toEqual([])
})
