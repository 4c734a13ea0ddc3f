// An innocent member of a hub in a loop: it sends to its group, receives its messages and measures the time.

import { WebSocket } from 'ws'
import type { MemberExperience } from './hub-scene.js'

const [url = '', pause = '2'] = process.argv.slice(2)
const group = 'innocent'
/** The pause between two rounds, in ms. */
const PAUSE_MS = Number(pause)

const socket = new WebSocket(url, ['json.reliable.webpubsub.azure.v1'])

let durations: number[] = []
let complaints: string[] = []
let round = 0
let began = performance.now()
let lastId = 0
const due = new Set<string>()
let finish = (): void => undefined

function complain(words: string): void {
  if (complaints.length < 10) complaints.push(words)
}

socket.on('error', error => complain(`error ${error.message}`))
socket.on('close', (code, reason) => complain(`closed with ${code} ${reason}`))
socket.on('message', data => {
  const frame = JSON.parse(String(data))
  if (frame.event === 'connected') return due.delete('connected') && finish()
  if (frame.type === 'message') {
    if (frame.sequenceId !== lastId + 1) complain(`message ${frame.sequenceId} came after ${lastId}`)
    lastId = frame.sequenceId
    socket.send(JSON.stringify({ type: 'sequenceAck', sequenceId: lastId }))
  }
  const name = frame.type === 'ack' ? `ack ${frame.ackId} ${frame.success}` : `message ${frame.data}`
  if (!due.delete(name)) complain(`in round ${round} came ${JSON.stringify(frame).slice(0, 200)}`)
  if (due.size === 0) finish()
})

async function awaitAll(...names: string[]): Promise<void> {
  for (const name of names) due.add(name)
  await new Promise<void>(resolve => {
    finish = resolve
  })
}

async function runRounds(): Promise<void> {
  for (;;) {
    round++
    began = performance.now()
    const all = awaitAll(`ack ${round + 1} true`, `message ${round}`)
    socket.send(JSON.stringify({ type: 'sendToGroup', group, dataType: 'json', data: round, ackId: round + 1 }))
    await all
    durations.push(performance.now() - began)
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
}

/** Returns the measurements since the last call. A round in progress counts with its duration so far. */
function experience(): MemberExperience {
  const sorted = [...durations, ...(due.size > 0 ? [performance.now() - began] : [])].sort((a, b) => a - b)
  const at = (share: number): number => sorted[Math.ceil(share * (sorted.length - 1))] ?? Number.POSITIVE_INFINITY
  const result = { rounds: durations.length, p50: at(0.5), p99: at(0.99), worst: at(1), complaints }
  durations = []
  complaints = []
  return result
}

process.on('message', () => process.send?.(experience()))
process.on('disconnect', () => process.exit())
await awaitAll('connected')
const joined = awaitAll('ack 1 true')
socket.send(JSON.stringify({ type: 'joinGroup', group, ackId: 1 }))
await joined
process.send?.('ready')
await runRounds()
