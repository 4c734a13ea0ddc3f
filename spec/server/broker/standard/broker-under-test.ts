import { afterAll, beforeAll, vi } from 'vitest'
import { serve } from '../../../../src/server/index.js'
import { TestClient } from '../../../support/test-client.js'

/** The broker under test in a spec file, with names that are unique in the file. */
export interface BrokerUnderTest {
  readonly url: string
  name(stem: string): string
  elapse(seconds: number): Promise<void>
}

/** The value of `BROKER_PORT`. `BROKER_PORT=1883` runs these specs in real time against the broker on that port. */
const FOREIGN = process.env['BROKER_PORT']
export const isForeign = FOREIGN !== undefined

/** Opens our broker on a manual clock, or connects to the broker on `BROKER_PORT`. */
export function brokerUnderTest(): BrokerUnderTest {
  let url = `mqtt://127.0.0.1:${FOREIGN}`
  let names = 0
  let close = async (): Promise<void> => undefined

  beforeAll(async () => {
    if (isForeign) return
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const store = await serve({ port: 0, wsPort: 0 })
    ;({ url } = store)
    close = () => store.close()
  })

  afterAll(async () => {
    vi.useRealTimers()
    await close()
  })

  return {
    get url() {
      return url
    },
    name: stem => `${stem}-${++names}`,
    async elapse(seconds) {
      if (!isForeign) vi.advanceTimersByTime(seconds * 1_000)
      else await new Promise(resolve => setTimeout(resolve, seconds * 1_000 + 900))
    },
  }
}

/** Checks that the broker still responds to a new client. */
export async function expectWell({ url, name }: BrokerUnderTest): Promise<void> {
  const peer = await TestClient.connect(url, name('well'))
  await peer.settled()
  await peer.disconnect()
}
