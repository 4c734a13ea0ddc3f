import { type ChildProcess, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { startProgram } from '../process.js'

/** Those of docs/any-broker.md; what it knows of sessions dies with it. */
const CONFIGURATION = [
  'allow_anonymous true',
  'set_tcp_nodelay true',
  'persistence false',
  'max_queued_messages 0',
  'max_inflight_messages 0',
  'log_dest stderr',
  'log_type information',
  'connection_messages false',
]

/** Whether there is a Mosquitto to be started. */
export const hasMosquitto = () => spawnSync('mosquitto', ['-h']).error === undefined

/** How to start Eclipse Mosquitto, again and again on the same ports; its configuration is in a file. */
export function mosquitto(
  file: string,
  { port, wsPort }: { port: number; wsPort: number },
): () => Promise<ChildProcess> {
  const listeners = [`listener ${port} 127.0.0.1`, `listener ${wsPort} 127.0.0.1`, 'protocol websockets']
  writeFileSync(file, [...listeners, ...CONFIGURATION].join('\n'))
  return () => startProgram('mosquitto', ['-c', file], / running$/)
}
