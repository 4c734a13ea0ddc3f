import { afterAll, beforeAll, vi } from 'vitest'
import { serve } from '../../../../src/server/index.js'
import { Peer } from './peer.js'

/** The broker of a spec file, with names that no other test of the file uses. */
export interface BrokerUnderTest {
  readonly port: number
  /** A topic, filter or client id of its own. */
  name(stem: string): string
  /** Lets so many seconds pass. */
  elapse(seconds: number): Promise<void>
}

/** `BROKER_PORT=1883` runs the same specs against whatever listens there, on real time; by default it is ours. */
const FOREIGN = process.env['BROKER_PORT']

/** Ours, on time that a test moves. */
export function brokerUnderTest(): BrokerUnderTest {
  let port = Number(FOREIGN)
  let names = 0
  let close = async (): Promise<void> => undefined

  beforeAll(async () => {
    if (FOREIGN !== undefined) return
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const store = await serve({ port: 0, wsPort: 0 })
    port = Number(new URL(store.url).port)
    close = () => store.close()
  })

  afterAll(async () => {
    vi.useRealTimers()
    await close()
  })

  return {
    get port() {
      return port
    },
    name: stem => `${stem}-${++names}`,
    async elapse(seconds) {
      if (FOREIGN === undefined) vi.advanceTimersByTime(seconds * 1_000)
      else await new Promise(resolve => setTimeout(resolve, seconds * 1_000 + 900))
    },
  }
}

/** Somebody who connects, asks for an answer and gets it: the broker is well. */
export async function expectWell({ port, name }: BrokerUnderTest): Promise<void> {
  const peer = await Peer.connect(port, name('well'))
  await peer.settled()
  await peer.disconnect()
}
