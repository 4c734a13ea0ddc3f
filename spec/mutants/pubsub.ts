import type { Mutants } from './mutant.js'

/** The mutants of the code that upholds the guarantees of the pub/sub hub and its clients. */
export const pubsub: Mutants = {
  'src/pubsub/client/client-state-machine.ts': {
    'a client drops messages that it has received before': { seed: 1, code: 'return isNew', becomes: 'return true' },
    'sequence numbers start over in a new session': { seed: 1, code: 'this.#largestId = 0n' },
  },
  'src/pubsub/client/driver.ts': {
    'a late timer also handles its deadlines': {
      seed: 40,
      code: "if (late > SLEEP_THRESHOLD_MS) this.dispatch({ type: 'woke' })",
      becomes: "if (late > SLEEP_THRESHOLD_MS) return this.dispatch({ type: 'woke' })",
    },
  },
  'src/pubsub/client/memberships.ts': {
    'a client reports gaps': {
      seed: 1,
      code: "if (missedSince !== undefined) this.#act({ type: 'gap', group, since: missedSince })",
    },
    'a client joins its groups again in a new session': {
      seed: 1,
      code: 'onSessionLost(since: number): void {',
      becomes: 'onSessionLost(since: number): void {\n    return',
    },
  },
  'src/pubsub/client/send-queue.ts': {
    'a client sends unacknowledged requests again after a recovery': {
      seed: 18,
      code: 'for (const request of this.#unacknowledged.values()) this.#transmit(request.data)',
    },
    'a message that is sent again keeps its ackId': {
      seed: 9,
      code: 'for (const request of this.#unacknowledged.values()) this.#transmit(request.data)',
      becomes: `const sent = Array.from(this.#unacknowledged.values())
    this.#unacknowledged.clear()
    for (const request of sent) {
      request.ackId = this.nextId()
      request.data = this.#settings.codec.encode({ ...request.outgoing.frame, ackId: request.ackId }, toSentJson)
      this.#unacknowledged.set(request.ackId, request)
      this.#transmit(request.data)
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
      code: 'if (error === undefined) this.recentIds.add(ackId)',
      becomes: 'if (!this.recentIds.has(ackId)) this.recentIds.add(ackId)',
    },
    'the hub repeats unacknowledged messages after a recovery': {
      seed: 1,
      code: 'this.#nextId = this.#replayBuffer.firstId',
    },
    'the hub repeats messages before live ones': {
      seed: 1,
      code: 'this.#nextId = this.#replayBuffer.firstId',
      becomes: 'this.late = this.#replayBuffer.firstId',
      also: [
        {
          code: 'this.#highestWritten = Math.max(this.#highestWritten, this.#nextId)',
          becomes: `for (let id = this.late ?? this.#nextId; id < this.#nextId; id++) {
        const late = this.#replayBuffer.at(id)
        if (late) link.send(late.frameAt(id))
      }
      this.late = undefined
      this.#highestWritten = Math.max(this.#highestWritten, this.#nextId)`,
        },
      ],
    },
  },
  'src/pubsub/client/client-link.ts': {
    'a client trusts a recovered link without a frame from the hub': {
      seed: 4,
      code: 'this.#trustedAt = now + Math.min(TRUST_DELAY_MS, connectTimeout / 2, recoveryWindow / 2)',
    },
    'a client sends a request to a hub that answers no pings': {
      seed: 6,
      code: "if (this.#pingSupport !== 'answered') this.#sendProbeRequest()",
    },
    'the id of a liveness request differs from those of messages': {
      seed: 1,
      code: 'this.#probeAckId = this.#host.nextId()',
      becomes: 'this.#probeAckId = this.#host.nextId() + 1n',
    },
    'a client gives up a silent link': {
      seed: 10,
      code: "return this.#probedAt === undefined ? 'silent' : 'dead'",
      becomes: "if (this.#probedAt === undefined) return 'silent'\n    this.onActivity(now)\n    return undefined",
    },
    'a client sends no further pings to a hub that rejects pings': {
      seed: 7,
      code: "if (this.#pingSupport === 'unknown' && this.#hasPinged && VIOLATION_CODES.includes(code))\n      this.#pingSupport = 'refused'",
    },
  },
}
