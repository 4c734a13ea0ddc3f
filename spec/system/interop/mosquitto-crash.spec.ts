import { describe, it, onTestFinished } from 'vitest'
import { Random } from '../../../harness/random.js'
import { AttachedProcess } from '../../support/attached-process.js'
import { Counters } from '../../support/counters.js'
import { nightly, SEED } from '../../support/effort.js'
import { Mosquitto } from '../../support/mosquitto.js'
import { NatsCluster } from '../../support/nats-cluster.js'
import { SERVICES } from '../../support/services.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const WRITERS = 6
const ROUNDS = { directory: nightly(8, 4), log: nightly(5, 3) }
/** The minimum number of responses between two crashes. */
const MIN_RESPONSES = 60
const TIMEOUT_MS = 120_000

describe('a store attached to Mosquitto, when both are killed repeatedly', () => {
  it(
    'no acknowledged write is lost, none is applied twice, and watches converge',
    async () => {
      const random = new Random(SEED)
      const data = temporaryFolder()
      let broker = await Mosquitto.launch()
      let store = new AttachedProcess(broker.url, { data })
      await store.until('serving')
      const counters = new Counters(broker.url, WRITERS)
      for (let round = 0; round < ROUNDS.directory; round++) {
        await counters.answers(MIN_RESPONSES + random.int(0, MIN_RESPONSES))
        const kind = random.int(0, 2)
        const ends = [kind !== 1 && store.end('SIGKILL'), kind !== 0 && broker.stop('SIGKILL')]
        await Promise.all(ends)
        if (kind !== 0) broker = await Mosquitto.launch({ port: broker.port })
        if (kind !== 1) store = new AttachedProcess(broker.url, { data })
      }
      await counters.answers(MIN_RESPONSES)
      await counters.verify()
    },
    TIMEOUT_MS,
  )

  it.skipIf(!SERVICES.nats.present)(
    'two stores that share a log lose no acknowledged write and apply none twice',
    async () => {
      const random = new Random(SEED)
      const nats = await NatsCluster.start()
      onTestFinished(async () => nats.stop())
      let broker = await Mosquitto.launch()
      const startStore = (nodeId: string): AttachedProcess =>
        new AttachedProcess(broker.url, { log: { servers: nats.servers, name: 'crash', nodeId } })
      const stores = [startStore('n0')]
      await stores[0]?.until('serving')
      stores.push(startStore('n1'))
      const counters = new Counters(broker.url, WRITERS)
      for (let round = 0; round < ROUNDS.log; round++) {
        await counters.answers(MIN_RESPONSES + random.int(0, MIN_RESPONSES))
        const [at, server] = [random.int(0, 1), random.int(0, 2)]
        const kind = random.int(0, 3)
        if (kind === 0) await broker.stop('SIGKILL')
        if (kind === 1) await nats.kill(server)
        if (kind !== 1) await stores[at]?.end('SIGKILL')
        if (kind === 0) broker = await Mosquitto.launch({ port: broker.port })
        if (kind === 1) await nats.run(server)
        if (kind !== 1) stores[at] = startStore(`n${at}`)
      }
      await counters.answers(MIN_RESPONSES)
      await counters.verify()
    },
    TIMEOUT_MS,
  )
})
