import type { Mutants } from './mutant.js'

const NEXT = 'return row?.life === life && row.next === number ? row : undefined'
const PUSH = "this.#push(isLast ? { kind: 'entry', body: piece, entry } : { kind: 'piece', body: piece })"

/** What keeps the promises of nodes that share a log. */
export const cluster: Mutants = {
  'src/server/log/cluster/node-table.ts': {
    'an entry is applied once': {
      seed: 24,
      code: 'const { time } = arrival',
      becomes: `const { time } = arrival
    const known = this.#rows.get(envelope.node)
    if (envelope.kind !== 'start' && known?.life === envelope.life && envelope.number < known.next) return true`,
    },
    'entries of a node are applied in their order': {
      seed: 1,
      code: NEXT,
      becomes: NEXT.replace('row.next === number', 'row.next <= number'),
    },
    'an epoch that has been replaced does not begin': {
      seed: 7,
      code: "if (number !== 1 || replaces !== (this.#rows.get(node)?.life ?? '')) return undefined",
      becomes: 'if (number !== 1) return undefined',
    },
  },
  'src/server/log/cluster/replicated-log.ts': {
    'an entry is in the log before it is applied': {
      seed: 1,
      code: PUSH,
      becomes: `${PUSH}\n      if (isLast) this.#listener?.onCommitted(entry)`,
      also: [{ code: 'else this.#listener?.onCommitted({ ...parcel.entry, time })' }],
    },
    'entries are applied at the time of the log': {
      seed: 1,
      code: 'this.#entry(judged, own, position)',
      becomes: 'this.#entry({ ...judged, time: this.#host.clock.now() }, own, position)',
    },
    'reads are linearizable': {
      seed: 59,
      code: 'maxQueuedBytes: 32 * 1024 * 1024, reads }',
      becomes: "maxQueuedBytes: 32 * 1024 * 1024, reads: 'local' }",
      complaint: 'answered before it was asked',
    },
  },
  'src/server/log/cluster/message-judge.ts': {
    'a snapshot has the position of its content': {
      seed: 1,
      code: 'for (const number of [this.#position, this.digest.value, stream, time])',
      becomes: 'for (const number of [this.#position + 1, this.digest.value, stream, time])',
    },
  },
  'src/server/service/commit-loop.ts': {
    'keys expire at the time of the log': {
      seed: 6,
      code: 'tick(owner?: object): void {',
      becomes: `tick(owner?: object): void {
    this.onForeign({ time: this.#clock.now(), ...this.#engine.limits, commands: [] })
    return`,
    },
    'watchers are notified of changes made at other nodes': {
      seed: 1,
      code: 'if (changes.length > 0 && !this.#isStopped) this.#host.onChanges(changes)',
      becomes: 'if (changes.length < 0) this.#host.onChanges(changes)',
    },
  },
  'src/server/log/cluster/follower.ts': {
    'a node stops at a gap in the log': {
      seed: 96,
      code: 'this.#host.take(message)',
      becomes: 'this.#host.take({ ...message, position: Math.min(message.position, this.#host.position() + 1) })',
    },
  },
  'src/server/log/cluster/snapshot-writer.ts': {
    'a damaged snapshot is rejected': {
      seed: 333,
      code: "import { crc32 } from 'node:zlib'",
      becomes: 'const crc32 = () => 0',
    },
  },
}

/** What finds a node whose engine has made an error. */
export const faultyEngine: Mutants = {
  'src/server/log/cluster/message-judge.ts': {
    'nodes compare digests': {
      seed: 2,
      code: "const known = kind === 'start' ? undefined : this.digest.at(applied)",
      becomes: 'const known = undefined',
      complaint: 'nobody found out',
    },
  },
}
