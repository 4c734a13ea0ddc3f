import type { Mutants } from './mutant.js'

/** What keeps the promises of the pub/sub hub and its clients. */
export const pubsub: Mutants = {
  'src/pubsub/client/client-state-machine.ts': {
    'a client drops messages that it has received before': { seed: 1, code: 'return isNew', becomes: 'return true' },
    'sequence numbers start over in a new session': { seed: 1, code: 'this.#largest = 0n' },
  },
  'src/pubsub/client/memberships.ts': {
    'a client reports gaps': {
      seed: 1,
      code: "if (missedSince !== undefined) this.#act({ type: 'gap', group, since: missedSince })",
    },
    'a client joins its groups again in a new session': {
      seed: 1,
      code: 'sessionLost(since: number): void {',
      becomes: 'sessionLost(since: number): void {\n    return',
    },
  },
  'src/pubsub/client/send-queue.ts': {
    'a client sends unacknowledged requests again after a recovery': {
      seed: 18,
      code: 'for (const posting of this.#sent.values()) this.#transmit(posting.data)',
    },
    'a message sent again keeps its ackId': {
      seed: 9,
      code: 'for (const posting of this.#sent.values()) this.#transmit(posting.data)',
      becomes: `const sent = Array.from(this.#sent.values())
    this.#sent.clear()
    for (const posting of sent) {
      posting.ackId = this.takeId()
      posting.data = this.#settings.codec.encode({ ...posting.draft.frame, ackId: posting.ackId }, toSentJson)
      this.#sent.set(posting.ackId, posting)
      this.#transmit(posting.data)
    }`,
    },
  },
  'src/pubsub/hub/hub-session.ts': {
    'the hub remembers the ids of processed requests': {
      seed: 9,
      code: 'return id <= this.#highest && this.#ring.subarray(0, this.#count).includes(id)',
      becomes: 'return false',
    },
    'the hub remembers only the ids of requests that succeeded': {
      seed: 5,
      code: 'if (error === undefined) this.recent.add(ackId)',
      becomes: 'if (!this.recent.has(ackId)) this.recent.add(ackId)',
    },
    'the hub repeats unacknowledged messages after a recovery': {
      seed: 1,
      code: 'this.#next = this.#replayBuffer.first',
    },
    'the hub repeats messages before live ones': {
      seed: 1,
      code: 'this.#next = this.#replayBuffer.first',
      becomes: 'this.late = this.#replayBuffer.first',
      also: [
        {
          code: 'this.#written = Math.max(this.#written, this.#next)',
          becomes: `for (let id = this.late ?? this.#next; id < this.#next; id++) {
        const late = this.#replayBuffer.at(id)
        if (late) link.send(late.frameAt(id))
      }
      this.late = undefined
      this.#written = Math.max(this.#written, this.#next)`,
        },
      ],
    },
  },
  'src/pubsub/client/client-link.ts': {
    'a client trusts a recovered link without a frame from the hub': {
      seed: 4,
      code: 'this.#trustedAt = now + Math.min(TRUSTED_AFTER, connectTimeout / 2, recoveryWindow / 2)',
    },
    'a hub that answers no pings is sent a request': {
      seed: 6,
      code: "if (this.#pings !== 'answered') this.#request()",
    },
    'the request for a sign of life has an id that no message has': {
      seed: 1,
      code: 'this.#ackId = this.#host.nextId()',
      becomes: 'this.#ackId = this.#host.nextId() + 1n',
    },
    'a client gives up a silent link': {
      seed: 10,
      code: "return this.#askedAt === undefined ? 'silent' : 'dead'",
      becomes: "if (this.#askedAt === undefined) return 'silent'\n    this.hear(now)\n    return undefined",
    },
    'a hub that rejects pings is sent no more': {
      seed: 7,
      code: "if (this.#pings === 'unknown' && this.#pinged && VIOLATIONS.includes(code)) this.#pings = 'refused'",
    },
  },
}
