import type { Mutants } from './mutant.js'

const NEXT = 'return row?.epoch === epoch && row.nextNumber === number ? row : undefined'
const PUSH = "this.#send({ kind: 'entry', body, entry })"

/** The mutants of the code that upholds the guarantees of nodes that share a log. */
export const cluster: Mutants = {
  'src/server/log/cluster/node-table.ts': {
    'an entry is applied once': {
      seed: 24,
      code: 'const { time } = context',
      becomes: `const { time } = context
    const known = this.#rows.get(nodeMessage.node)
    if (nodeMessage.kind !== 'start' && known?.epoch === nodeMessage.epoch && nodeMessage.number < known.nextNumber) return true`,
    },
    'entries of a node are applied in order': {
      seed: 1,
      code: NEXT,
      becomes: NEXT.replace('row.nextNumber === number', 'row.nextNumber <= number'),
    },
    'an epoch that has been replaced does not begin': {
      seed: 7,
      code: "if (number !== 1 || previousEpoch !== (this.#rows.get(node)?.epoch ?? '')) return undefined",
      becomes: 'if (number !== 1) return undefined',
    },
  },
  'src/server/log/cluster/replicated-log.ts': {
    'an entry is in the log before it is applied': {
      seed: 1,
      code: PUSH,
      becomes: `${PUSH}\n    this.#listener?.onCommitted(entry)`,
      also: [{ code: 'else this.#listener?.onCommitted({ ...message.entry, time })' }],
    },
    'entries are applied at the time of the log': {
      seed: 1,
      code: 'this.#applyEntry(verdict, own, position)',
      becomes: 'this.#applyEntry({ ...verdict, time: this.#host.clock.now() }, own, position)',
    },
    'reads are linearizable': {
      seed: 59,
      code: '      reads,\n    }',
      becomes: "      reads: 'local',\n    }",
      complaint: 'answered before the request',
    },
  },
  'src/server/log/cluster/message-judge.ts': {
    'a snapshot has the position of its content': {
      seed: 1,
      code: 'for (const number of [this.#position, this.digest.value, streamTime, time])',
      becomes: 'for (const number of [this.#position + 1, this.digest.value, streamTime, time])',
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
      code: 'this.#host.onMessage(message)',
      becomes: 'this.#host.onMessage({ ...message, position: Math.min(message.position, this.#host.position() + 1) })',
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

/** The mutants of the code that detects a node whose engine has made an error. */
export const faultyEngine: Mutants = {
  'src/server/log/cluster/message-judge.ts': {
    'nodes compare digests': {
      seed: 2,
      code: "const known = kind === 'start' ? undefined : this.digest.at(appliedPosition)",
      becomes: 'const known = undefined',
      complaint: 'no node detected it',
    },
  },
}
