import { type ChildProcess, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { startProgram } from '../managed-process.js'

/** The configuration documented in docs/any-broker.md. Sessions are lost when the broker ends. */
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

export const hasMosquitto = () => spawnSync('mosquitto', ['-h']).error === undefined

/** Returns a function that starts Eclipse Mosquitto, always on the same ports. */
export function mosquitto(
  file: string,
  { port, wsPort }: { port: number; wsPort: number },
): () => Promise<ChildProcess> {
  const listeners = [`listener ${port} 127.0.0.1`, `listener ${wsPort} 127.0.0.1`, 'protocol websockets']
  writeFileSync(file, [...listeners, ...CONFIGURATION].join('\n'))
  return () => startProgram('mosquitto', ['-c', file], / running$/)
}
