import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Authority, type Pair } from '../harness/certificates.js'
import { ArgumentError } from '../src/core/util/errors.js'
import { type Environment, settingsFromEnv } from '../src/node/settings.js'
import { temporaryFolder } from './support/temporary-folder.js'

const folder = temporaryFolder()
const file = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const pick = ({ cert, key }: Pair): Pair => ({ cert, key })
const broker = { AIO_BROKER_HOSTNAME: 'aio-broker' }
const authority = new Authority('/CN=authority')
const panel = authority.issue('/CN=panel')
const pair = { AIO_TLS_CERT_FILE: file('cert', panel.cert), AIO_TLS_KEY_FILE: file('key', panel.key) }

describe('settingsFromEnv', () => {
  it('returns the defaults of the official clients', () => {
    expect(settingsFromEnv(broker)).toEqual({ url: 'mqtts://aio-broker:8883' })
  })

  it.each([
    [{ AIO_BROKER_TCP_PORT: '1883', AIO_MQTT_USE_TLS: 'false' }, 'mqtt://aio-broker:1883'],
    [{ AIO_BROKER_TCP_PORT: '18883', AIO_MQTT_USE_TLS: 'True' }, 'mqtts://aio-broker:18883'],
    [{ AIO_MQTT_USE_TLS: '0' }, 'mqtt://aio-broker:8883'],
    [{ AIO_MQTT_USE_TLS: '1' }, 'mqtts://aio-broker:8883'],
    [{ AIO_BROKER_HOSTNAME: '192.0.2.1' }, 'mqtts://192.0.2.1:8883'],
    [{ AIO_BROKER_HOSTNAME: 'fe80::1' }, 'mqtts://[fe80::1]:8883'],
    [{ AIO_BROKER_HOSTNAME: 'a, b,fe80::1' }, ['mqtts://a:8883', 'mqtts://b:8883', 'mqtts://[fe80::1]:8883']],
    [{ AIO_BROKER_HOSTNAME: 'aio-broker.ns.svc.cluster.local' }, 'mqtts://aio-broker.ns.svc.cluster.local:8883'],
  ])('builds a URL from %j', (env, url) => {
    expect(settingsFromEnv({ ...broker, ...env })).toEqual({ url })
  })

  it('reads every variable', () => {
    const env = {
      ...broker,
      ...pair,
      AIO_MQTT_CLIENT_ID: 'panel-7',
      AIO_MQTT_USERNAME: 'eve',
      AIO_MQTT_PASSWORD_FILE: file('password', 'wonder'),
      AIO_TLS_CA_FILE: file('ca', 'CA'),
      AIO_TLS_KEY_PASSWORD_FILE: file('passphrase', 'open'),
      AIO_MQTT_KEEP_ALIVE: '45',
      AIO_MQTT_SESSION_EXPIRY: '7200',
      AIO_MQTT_CLEAN_START: 'true',
    }
    const { credentials, ...settings } = settingsFromEnv(env)
    expect(settings).toEqual({
      url: 'mqtts://aio-broker:8883',
      clientId: 'panel-7',
      username: 'eve',
      password: 'wonder',
      ca: 'CA',
      cert: panel.cert,
      key: panel.key,
      keyPassphrase: 'open',
      keepAlive: 45_000,
      sessionExpiry: 7_200_000,
      cleanStart: true,
    })
  })

  it('reads a service account token as unmodified bytes', () => {
    const token = Uint8Array.of(101, 121, 74, 255, 10)
    const { authentication } = settingsFromEnv({ ...broker, AIO_SAT_FILE: file('token', token) })
    expect(authentication?.method).toBe('K8S-SAT')
    expect(new Uint8Array(authentication?.data ?? [])).toEqual(token)
  })

  it('every file is read again before every connection attempt', async () => {
    const other = authority.issue('/CN=other')
    const env = {
      ...broker,
      AIO_MQTT_PASSWORD_FILE: file('later-password', 'today'),
      AIO_TLS_CA_FILE: file('later-ca', authority.cert),
      AIO_TLS_CERT_FILE: file('later-cert', panel.cert),
      AIO_TLS_KEY_FILE: file('later-key', panel.key),
      AIO_TLS_KEY_PASSWORD_FILE: file('later-passphrase', 'today'),
    }
    const { credentials } = settingsFromEnv(env)
    const today = { password: 'today', ca: authority.cert, ...pick(panel), keyPassphrase: 'today' }
    expect(await credentials?.()).toEqual(today)
    file('later-password', 'tomorrow')
    file('later-ca', other.cert)
    file('later-cert', other.cert)
    file('later-key', other.key)
    file('later-passphrase', 'tomorrow')
    const tomorrow = { password: 'tomorrow', ca: other.cert, ...pick(other), keyPassphrase: 'tomorrow' }
    expect(await credentials?.()).toEqual(tomorrow)
  })

  it('the service account token is read again before every connection attempt', async () => {
    const path = file('token-of-today', 'today')
    const { credentials } = settingsFromEnv({ ...broker, AIO_SAT_FILE: path })
    const token = async (): Promise<string> => String((await credentials?.())?.authentication?.data)
    expect(await token()).toBe('today')
    file('token-of-today', 'tomorrow')
    expect(await token()).toBe('tomorrow')
  })

  it('a key that does not match its certificate is refused', () => {
    const env = { ...broker, ...pair, AIO_TLS_KEY_FILE: file('another-key', authority.key) }
    expect(() => settingsFromEnv(env)).toThrow(/Cannot use these certificates and keys: .*mismatch/)
  })

  it.each(['wonder\n', 'wonder\r\n'])('removes the line end after a password', content => {
    expect(settingsFromEnv({ ...broker, AIO_MQTT_PASSWORD_FILE: file('password', content) }).password).toBe('wonder')
  })

  it('keeps blanks and all line ends of a password except the last line end', () => {
    const settings = settingsFromEnv({ ...broker, AIO_MQTT_PASSWORD_FILE: file('password', ' a\n\n') })
    expect(settings.password).toBe(' a\n')
  })

  it('treats an empty variable as a missing one', () => {
    const env = { ...broker, AIO_BROKER_TCP_PORT: '', AIO_MQTT_CLIENT_ID: '', AIO_SAT_FILE: '', AIO_MQTT_USE_TLS: '' }
    expect(settingsFromEnv(env)).toEqual({ url: 'mqtts://aio-broker:8883' })
  })

  it('accepts zero for keep-alive and session expiry', () => {
    const settings = settingsFromEnv({ ...broker, AIO_MQTT_KEEP_ALIVE: '0', AIO_MQTT_SESSION_EXPIRY: '0' })
    expect(settings).toMatchObject({ keepAlive: 0, sessionExpiry: 0 })
  })

  it('reads process.env by default', () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    vi.stubEnv('AIO_BROKER_HOSTNAME', 'from-process')
    expect(settingsFromEnv().url).toMatch(/from-process/)
  })

  it.each<[string, Environment, RegExp]>([
    ['a missing host name', { AIO_BROKER_HOSTNAME: undefined }, /AIO_BROKER_HOSTNAME/],
    [
      'a port without a host name',
      { AIO_BROKER_HOSTNAME: '', AIO_BROKER_TCP_PORT: '1' },
      /AIO_BROKER_TCP_PORT requires AIO_BROKER_HOSTNAME/,
    ],
    [
      'a URL instead of a host name',
      { AIO_BROKER_HOSTNAME: 'mqtt://broker' },
      /AIO_BROKER_HOSTNAME to be a host name, got `mqtt:/,
    ],
    ['a trailing comma', { AIO_BROKER_HOSTNAME: 'a,' }, /AIO_BROKER_HOSTNAME to be a host name, got `a,`/],
    ['a host name with a port', { AIO_BROKER_HOSTNAME: 'broker:1883' }, /AIO_BROKER_HOSTNAME/],
    [
      'a port that is not a number',
      { AIO_BROKER_TCP_PORT: '1883x' },
      /AIO_BROKER_TCP_PORT to be an integer from 1 to 65535/,
    ],
    ['a port of zero', { AIO_BROKER_TCP_PORT: '0' }, /AIO_BROKER_TCP_PORT/],
    ['a port out of range', { AIO_BROKER_TCP_PORT: '65536' }, /AIO_BROKER_TCP_PORT/],
    [
      'a word instead of true or false',
      { AIO_MQTT_USE_TLS: 'yes' },
      /AIO_MQTT_USE_TLS to be `true` or `false`, got `yes`/,
    ],
    ['another word instead of true or false', { AIO_MQTT_CLEAN_START: 'on' }, /AIO_MQTT_CLEAN_START/],
    [
      'a negative time',
      { AIO_MQTT_KEEP_ALIVE: '-1' },
      /AIO_MQTT_KEEP_ALIVE to be an integer from 0 to 65535, got `-1`/,
    ],
    ['a time that is too long', { AIO_MQTT_KEEP_ALIVE: '65536' }, /AIO_MQTT_KEEP_ALIVE/],
    ['half a second', { AIO_MQTT_SESSION_EXPIRY: '0.5' }, /AIO_MQTT_SESSION_EXPIRY/],
    ['a missing file', { AIO_SAT_FILE: '/nowhere/at/all' }, /AIO_SAT_FILE to name a file .*ENOENT/],
    ['a folder instead of a file', { AIO_TLS_CA_FILE: folder }, /AIO_TLS_CA_FILE .*EISDIR/],
    [
      'a certificate without a key',
      { AIO_TLS_CERT_FILE: pair.AIO_TLS_CERT_FILE },
      /AIO_TLS_CERT_FILE requires AIO_TLS_KEY_FILE/,
    ],
    [
      'a key without a certificate',
      { AIO_TLS_KEY_FILE: pair.AIO_TLS_KEY_FILE },
      /AIO_TLS_KEY_FILE requires AIO_TLS_CERT_FILE/,
    ],
    [
      'a passphrase without a certificate',
      { AIO_TLS_KEY_PASSWORD_FILE: file('p', 'p') },
      /AIO_TLS_KEY_PASSWORD_FILE requires AIO_TLS_KEY_FILE/,
    ],
    [
      'two authentication methods',
      { AIO_SAT_FILE: file('s', 's'), AIO_MQTT_PASSWORD_FILE: file('p', 'p') },
      /one of AIO_SAT_FILE and AIO_MQTT_PASSWORD_FILE/,
    ],
  ])('throws for %s', (_, env, words) => {
    const call = (): unknown => settingsFromEnv({ ...broker, ...env })
    expect(call).toThrow(ArgumentError)
    expect(call).toThrow(words)
  })
})
