import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, onTestFinished } from 'vitest'
import { Random } from '../../simulation/random.js'
import { AttachedProcess } from '../../support/attached-process.js'
import { Counters } from '../../support/counters.js'
import { SEED } from '../../support/effort.js'
import { Mosquitto } from '../../support/mosquitto.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { SERVICES } from '../../support/services.js'

const WRITERS = 6
const ROUNDS = { directory: 8, log: 5 }
/** Answers between two disasters, at least. */
const ANSWERS = 60
const PATIENCE = 120_000

describe('a store attached to Mosquitto, both killed repeatedly,', () => {
  it(
    'loses no acknowledged write, applies nothing twice, and watches converge, with a directory',
    async () => {
      const random = new Random(SEED)
      const data = await mkdtemp(join(tmpdir(), 'attached-'))
      let broker = await Mosquitto.start()
      onTestFinished(async () => broker.stop())
      let store = new AttachedProcess(broker.url, { data })
      await store.until('serving')
      const counters = new Counters(broker.url, WRITERS)
      for (let round = 0; round < ROUNDS.directory; round++) {
        await counters.answers(ANSWERS + random.int(0, ANSWERS))
        const kind = random.int(0, 2)
        const ends = [kind !== 1 && store.end('SIGKILL'), kind !== 0 && broker.stop('SIGKILL')]
        await Promise.all(ends)
        if (kind !== 0) broker = await Mosquitto.start({ port: broker.port })
        if (kind !== 1) store = new AttachedProcess(broker.url, { data })
      }
      await counters.answers(ANSWERS)
      await counters.verify()
    },
    PATIENCE,
  )

  it.skipIf(!SERVICES.nats.present)(
    'neither does one of two that share a log, whichever of them serves',
    async () => {
      const random = new Random(SEED)
      const nats = await NatsCluster.start()
      onTestFinished(async () => nats.stop())
      let broker = await Mosquitto.start()
      onTestFinished(async () => broker.stop())
      const begin = (nodeId: string): AttachedProcess =>
        new AttachedProcess(broker.url, { log: { servers: nats.servers, name: 'crash', nodeId } })
      const stores = [begin('n0')]
      await stores[0]?.until('serving')
      stores.push(begin('n1'))
      const counters = new Counters(broker.url, WRITERS)
      for (let round = 0; round < ROUNDS.log; round++) {
        await counters.answers(ANSWERS + random.int(0, ANSWERS))
        const [at, server] = [random.int(0, 1), random.int(0, 2)]
        const kind = random.int(0, 3)
        if (kind === 0) await broker.stop('SIGKILL')
        if (kind === 1) await nats.kill(server)
        if (kind !== 1) await stores[at]?.end('SIGKILL')
        if (kind === 0) broker = await Mosquitto.start({ port: broker.port })
        if (kind === 1) await nats.run(server)
        if (kind !== 1) stores[at] = begin(`n${at}`)
      }
      await counters.answers(ANSWERS)
      await counters.verify()
    },
    PATIENCE,
  )
})
