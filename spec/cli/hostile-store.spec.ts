import type { IPublishPacket, Packet, UserProperties } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { type BrokerSide, CONNACK, grant, scriptedBroker } from '../support/scripted-broker.js'
import { start } from './test-io.js'

const EVIL = '\u001b]0;owned\u0007\u001b[2J\rroot# \nforged line\u202e'

interface Hostility {
  readonly payload: string
  readonly properties: UserProperties
}

const VERSION = `${Date.now()}:0:${EVIL}`
const HOSTILITY: Readonly<Record<string, Hostility>> = {
  'error text': { payload: `-ERR ${EVIL.replace(/[\r\n]/g, '')}\r\n`, properties: { __stat: '200', __ts: VERSION } },
  'version of a write': { payload: '+OK\r\n', properties: { __stat: '200', __protVer: '1.0', __ts: VERSION } },
  'version of a deletion': { payload: ':1\r\n', properties: { __stat: '200', __protVer: '1.0', __ts: VERSION } },
  'version of a value': { payload: '$1\r\nx\r\n', properties: { __stat: '200', __protVer: '1.0', __ts: VERSION } },
  'status message': {
    payload: '',
    properties: { __stat: '500', __protVer: '1.0', __stMsg: EVIL, __propName: EVIL, __propVal: EVIL },
  },
}

function answer(side: BrokerSide, packet: Packet, { payload, properties }: Hostility): void {
  grant(side, packet)
  if (packet.cmd === 'pingreq') side.send({ cmd: 'pingresp' })
  if (packet.cmd !== 'publish') return
  if (packet.qos === 1) side.send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 0 })
  const response = responseTo(packet)
  if (response) side.send({ ...response, payload, properties: { ...response.properties, userProperties: properties } })
}

function responseTo({ properties }: IPublishPacket): IPublishPacket | undefined {
  const { responseTopic, correlationData } = properties ?? {}
  if (responseTopic === undefined || correlationData === undefined) return undefined
  const rest = { qos: 0, dup: false, retain: false, payload: '' } as const
  return { cmd: 'publish', topic: responseTopic, ...rest, properties: { correlationData } }
}

describe('A hostile store', () => {
  const commands = ['status', 'probe', 'get k', 'set k v', 'del k', 'keys', 'watch k']
  it.each(commands.flatMap(command => Object.keys(HOSTILITY).map(by => [command, by] as const)))(
    'cannot control the terminal of `%s` by the %s',
    async (command, by) => {
      const hostility = HOSTILITY[by]
      if (hostility === undefined) throw new Error('no such case')
      const { url } = await scriptedBroker(
        side => side.send({ ...CONNACK, properties: { assignedClientIdentifier: EVIL } }),
        (side, packet) => answer(side, packet, hostility),
      )
      const { stdout, stderr, exit, interrupt } = start([...command.split(' '), '--url', url, '--timeout', '300'])
      if (command.startsWith('watch')) {
        await stderr.line(/connected/)
        await Promise.race([stderr.line(/./), stdout.line(/./)])
        interrupt()
      }
      await exit
      const text = stdout.text + stderr.text
      expect(text).not.toBe('')
      expect(text).not.toMatch(/[^\n\P{Cc}]|[\u202a-\u202e]/u)
      expect(text).not.toMatch(/^forged line/m)
    },
  )
})
