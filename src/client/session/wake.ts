import type { Clock } from '../../core/util/clock.js'
import type { MqttJsClient } from './mqttjs-client.js'

/** How often the clocks are compared, and by how much the wall clock must be ahead of them, ms. */
const INTERVAL = 5_000
const JUMP = 10_000
/** How long a connection may be silent after that, ms. */
const WAKE_TIMEOUT = 3_000

/**
 * Calls `task` when the wall clock has jumped ahead, as it does for a machine that slept: its connections may be dead
 * without anybody having said so. The returned function ends the watching.
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

/** Looks whether a connection still answers; calls `dead` if it does not. */
export function checkAlive(client: MqttJsClient, clock: Clock, dead: () => void): void {
  const alive = clock.schedule(WAKE_TIMEOUT, dead)
  client.once('packetreceive', alive)
  client.once('close', alive)
  client.sendPing()
}
