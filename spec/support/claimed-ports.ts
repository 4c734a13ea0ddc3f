import { onTestFinished } from 'vitest'
import { claimPorts } from '../../harness/free-port.js'

/** Returns the ports of a server that may listen again on them during the test. */
export async function claimedPorts(): Promise<{ readonly port: number; readonly wsPort: number }> {
  const {
    ports: [port = 0, wsPort = 0],
    release,
  } = await claimPorts(2)
  onTestFinished(release)
  return { port, wsPort }
}
