// An innocent member of a hub that repeatedly sends to its group and receives the ack and the message.

import { WebSocket } from 'ws'
import { Rounds } from './rounds.js'

const [url = '', pauseMs = '2'] = process.argv.slice(2)
const group = 'innocent'

const socket = new WebSocket(url, ['json.reliable.webpubsub.azure.v1'])
const rounds = new Rounds()
let lastId = 0

socket.on('error', error => rounds.complain(`error ${error.message}`))
socket.on('close', (code, reason) => rounds.end(`${code} ${reason}`))
socket.on('message', data => {
  const frame = JSON.parse(String(data))
  if (frame.type === 'message') {
    if (frame.sequenceId !== lastId + 1) rounds.complain(`message ${frame.sequenceId} came after ${lastId}`)
    lastId = frame.sequenceId
    socket.send(JSON.stringify({ type: 'sequenceAck', sequenceId: lastId }))
  }
  if (frame.event === 'connected') rounds.arrived('connected')
  else rounds.arrived(frame.type === 'ack' ? `ack ${frame.ackId} ${frame.success}` : `message ${frame.data}`)
})

await rounds.all(['connected'])
socket.send(JSON.stringify({ type: 'joinGroup', group, ackId: 1 }))
await rounds.all(['ack 1 true'])
await rounds.run(Number(pauseMs), round => {
  socket.send(JSON.stringify({ type: 'sendToGroup', group, dataType: 'json', data: round, ackId: round + 1 }))
  return [`ack ${round + 1} true`, `message ${round}`]
})
