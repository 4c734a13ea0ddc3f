import type { Clock } from '../../core/util/clock.js'
import type { MqttJsClient } from './mqttjs-client.js'

/** How often the clocks are compared, and how far the wall clock must jump ahead, ms. */
const INTERVAL = 5_000
const JUMP = 10_000
/** Maximum silence of a connection after a jump, ms. */
const WAKE_TIMEOUT = 3_000

/**
 * Calls `task` when the wall clock has jumped ahead, as after system sleep, when connections may have died silently.
 * The returned function stops the checks.
 */
export function onWake(clock: Clock, task: () => void): () => void {
  let last = clock.now()
  let cancel = clock.schedule(INTERVAL, compare)
  function compare(): void {
    const now = clock.now()
    const ahead = now - last - INTERVAL
    last = now
    cancel = clock.schedule(INTERVAL, compare)
    if (ahead > JUMP) task()
  }
  return () => cancel()
}

/** Pings the broker; calls `dead` if no packet arrives in time. */
export function checkAlive(client: MqttJsClient, clock: Clock, dead: () => void): void {
  const alive = clock.schedule(WAKE_TIMEOUT, dead)
  client.once('packetreceive', alive)
  client.once('close', alive)
  client.sendPing()
}
