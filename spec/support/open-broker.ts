import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/core/util/clock.js'
import { Broker, type BrokerHandler, type BrokerOptions } from '../../src/server/broker/broker.js'
import { claimedPorts } from './claimed-ports.js'

/** A handler that accepts every client and permits everything. */
export const openHandler: BrokerHandler = {
  topic: 'nobody',
  checkPublish: () => undefined,
  handlePublish: () => false,
  maySubscribe: () => true,
  onConnected: () => undefined,
  onDisconnected: () => undefined,
  onError: error => {
    throw error
  },
}

/** Opens a broker without a store on claimed ports, so that another broker can follow on them. It closes at the end of the test. */
export async function openBroker(
  options: Partial<BrokerOptions> = {},
  handler: Partial<BrokerHandler> = {},
): Promise<Broker> {
  const bounds = { maximumPacketSize: 1024 * 1024, maxKeepAliveSeconds: 0, memoryBudget: 256 * 1024 * 1024 }
  const addresses = { host: '127.0.0.1', ...(await claimedPorts()), allowedOrigins: [] }
  const broker = await Broker.start(
    { ...addresses, ...bounds, clock: systemClock, ...options },
    { ...openHandler, ...handler },
  )
  onTestFinished(async () => broker.close())
  return broker
}
