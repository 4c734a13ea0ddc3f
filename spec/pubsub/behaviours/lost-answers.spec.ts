import { describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { openScriptedHub } from '../support/behaviour.js'
import { FakeSetting } from '../support/fake-socket-client.js'
import { PROTOCOLS } from '../support/scripted-hub.js'

const tcpSockets = (): number => process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length

/** Opens a connected client with a request timeout of one second. */
function open(): FakeSetting {
  const setting = new FakeSetting({ timeout: 1_000 })
  setting.socket.accept().greet()
  return setting
}

const requests = ({ socket }: FakeSetting): string[] =>
  socket.frames.map(({ type }) => String(type)).filter(type => type.endsWith('Group'))

describe('a group whose request timed out', () => {
  it('after a join timed out, the client leaves, because the hub may have processed it', () => {
    const setting = open()
    const membership = setting.client.group('line').messages$.subscribe()
    membership.unsubscribe()
    expect(requests(setting)).toEqual(['joinGroup'])
    setting.clock.advance(1_000)
    expect(requests(setting)).toEqual(['joinGroup', 'leaveGroup'])
    setting.socket.ack(2)
    setting.clock.advance(10_000)
    expect(requests(setting)).toEqual(['joinGroup', 'leaveGroup'])
  })

  it('after a leave timed out, the client rejoins, because the hub may have processed it', () => {
    const setting = open()
    const { messages$ } = setting.client.group('line')
    const membership = messages$.subscribe()
    setting.socket.ack(1)
    membership.unsubscribe()
    messages$.subscribe()
    expect(requests(setting)).toEqual(['joinGroup', 'leaveGroup'])
    setting.clock.advance(1_000)
    expect(requests(setting)).toEqual(['joinGroup', 'leaveGroup', 'joinGroup'])
  })
})

describe('a group that receives messages before its join is acknowledged', () => {
  it('a session loss before the join is acknowledged causes a gap', () => {
    const setting = new FakeSetting().connect()
    const line = setting.client.group('line')
    line.messages$.subscribe(setting.observer('line'))
    line.gaps$.subscribe(() => setting.log.push('gap'))
    setting.socket.publish(1)
    setting.beginNewSession()
    expect(setting.log).toEqual(['line: 1'])
    setting.socket.ack(2)
    setting.socket.publish(1)
    expect(setting.log).toEqual(['line: 1', 'gap', 'line: 1'])
  })

  it('a client reports a gap once, before the messages that follow the gap', () => {
    const setting = new FakeSetting().connect()
    const line = setting.client.group('line')
    line.messages$.subscribe(setting.observer('line'))
    line.gaps$.subscribe(() => setting.log.push('gap'))
    setting.socket.ack(1).publish(1)
    setting.beginNewSession()
    setting.socket.publish(1)
    setting.socket.ack(setting.socket.of('joinGroup').at(-1)?.['ackId'])
    setting.socket.publish(2)
    expect(setting.log).toEqual(['line: 1', 'gap', 'line: 1', 'line: 2'])
  })
})

describe.each(PROTOCOLS)('a hub that does not answer a close, in %s', protocol => {
  it('a client that closes at an unresponsive hub leaves no socket that keeps the process alive', async () => {
    const { hub, clock, client, reached } = await openScriptedHub(protocol)
    const peer = (await hub.peer(1)).greet()
    await reached('connected')
    peer.socket.pause()
    const before = tcpSockets()
    const closed = client.close()
    clock.advance(2_000)
    await closed
    await eventually(() => tcpSockets() < before)
  })
})
