import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { execute, start } from '../../cli/test-io.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const ANY_PORT = ['--port', '0', '--ws-port', '0']

async function setUp() {
  const folder = temporaryFolder()
  const write = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const [servers, clients] = [new Authority('/CN=Servers'), new Authority('/CN=Contoso Root CA Cert/C=US')]
  const keys = await generateKeyPair('ES256', { extractable: true })
  const jwks = write('jwks.json', JSON.stringify({ keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'k' }] }))
  const sign = async (subject: string): Promise<string> =>
    new SignJWT({ sub: subject, aud: 'aio-internal', 'aio-broker-auth/role': 'reader' })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setExpirationTime('1h')
      .sign(keys.privateKey)
  write('client-ca', clients.cert)
  const server = servers.files(servers.issue('/CN=localhost'))
  const tls = ['--tls-cert', server.cert, '--tls-key', server.key]
  return { folder, write, servers, clients, jwks, sign, tls }
}

async function serving(...flags: string[]) {
  const running = start(['serve', ...ANY_PORT, ...flags])
  const [url = ''] = /mqtts?:\S+/.exec(await running.stdout.line(/^listening/)) ?? []
  return { ...running, url }
}

describe('serve', () => {
  it('authenticates by certificate, token and password with an AIO file', async () => {
    const { folder, write, servers, clients, sign, tls } = await setUp()
    await execute(['passwd', join(folder, 'users'), 'panel', '--attribute', 'role=writer'], { stdin: 'secret' })
    const methods = write(
      'authentication.yaml',
      `apiVersion: mqttbroker.iotoperations.azure.com/v1
kind: BrokerAuthentication
metadata: { name: my-policy }
spec:
  authenticationMethods:
  - method: X509
    x509Settings:
      trustedClientCaCert: client-ca
      authorizationAttributes:
        root: { subject: "CN = Contoso Root CA Cert, C = US", attributes: { role: reader } }
  - method: ServiceAccountToken
    serviceAccountTokenSettings: { audiences: [aio-internal, my-audience], jwks: jwks.json }
  - method: Password
    passwordSettings: { file: users }`,
    )
    const policy = write(
      'policy.yaml',
      `
- principals: { attributes: [{ role: writer }] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: Write, keyType: String, keys: [k] }]
- principals: { attributes: [{ role: reader }] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: Read, keyType: String, keys: [k] }]`,
    )
    const { url } = await serving(...tls, '--authentication', methods, '--policy', policy)
    expect(url).toMatch(/^mqtts:/)
    const ca = ['--url', url, '--ca', servers.file]
    expect(await execute(['set', 'k', '7', ...ca, '--username', 'panel', '--password', 'secret'])).toMatchObject({
      code: 0,
    })
    const { cert, key } = clients.files(clients.issue('/CN=lock'))
    expect(await execute(['get', 'k', ...ca, '--cert', cert, '--key', key])).toMatchObject({ code: 0, stdout: '7' })
    const env = { AIO_SAT_FILE: write('token', await sign('pod')) }
    expect(await execute(['get', 'k', ...ca], { env })).toMatchObject({ code: 0, stdout: '7' })
    expect(await execute(['set', 'k', '8', ...ca], { env })).toMatchObject({ code: 1 })
    expect(await execute(['get', 'k', ...ca])).toMatchObject({ code: 1 })
  })

  it('authenticates by tokens with flags, and reloads the keys of tokens on SIGHUP', async () => {
    const { jwks, sign, write } = await setUp()
    const { url, stderr, interrupt } = await serving('--jwks', jwks, '--audience', 'aio-internal')
    const env = { AIO_SAT_FILE: write('token', await sign('pod')) }
    expect(await execute(['get', 'k', '--url', url], { env })).toMatchObject({ code: 3 })
    writeFileSync(jwks, JSON.stringify({ keys: [] }))
    interrupt('SIGHUP')
    await stderr.line(/jwks/)
    expect(await execute(['get', 'k', '--url', url], { env })).toMatchObject({ code: 1 })
  })

  it('uses a new certificate when the files of the certificate change', async () => {
    const { servers, tls } = await setUp()
    const { url, stderr, interrupt } = await serving(...tls)
    const others = new Authority('/CN=Others')
    const fresh = others.issue('/CN=localhost')
    writeFileSync(tls[1] ?? '', fresh.cert)
    writeFileSync(tls[3] ?? '', fresh.key)
    interrupt('SIGHUP')
    await stderr.line(/^reloaded /)
    expect(await execute(['get', 'k', '--url', url, '--ca', others.file])).toMatchObject({ code: 3 })
    const old = await execute(['get', 'k', '--url', url, '--ca', servers.file, '--timeout', '2000'])
    expect(old).toMatchObject({ code: 1, stderr: expect.stringMatching(/certificate/) })
  })

  it.each([
    ['a certificate without its key', ['--tls-cert', 'x'], /--tls-cert and --tls-key/],
    ['certificate authorities without a server certificate', ['--tls-client-ca', 'x'], /--tls-cert and --tls-key/],
    ['keys without an audience', ['--jwks', 'x'], /--jwks and --audience/],
  ])('exits with code 2 for %s', async (_, flags, words) => {
    expect(await execute(['serve', ...ANY_PORT, ...flags])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(words),
    })
  })

  it.each([
    [
      'a method that does not exist',
      '- method: Custom',
      /line 2, authenticationMethods\[0\]\.method: Expected one of X509, Serv/,
    ],
    ['a method without settings', '- method: X509', /Expected `x509Settings`, but it is missing/],
    [
      'tokens without keys',
      '- { method: ServiceAccountToken, serviceAccountTokenSettings: { audiences: [a] } }',
      /Expected `jwks`/,
    ],
    [
      'tokens without an audience',
      '- { method: ServiceAccountToken, serviceAccountTokenSettings: { audiences: [], jwks: k } }',
      /Expected an audience/,
    ],
    [
      'a subject that is invalid',
      '- { method: X509, x509Settings: { trustedClientCaCert: c, authorizationAttributes: { a: { subject: x, attributes: {} } } } }',
      /a\.subject: Expected a subject such as/,
    ],
    [
      'the device registry',
      '- { method: X509, x509Settings: { trustedClientCaCert: c, additionalValidation: AzureDeviceRegistry } }',
      /Expected one of None/,
    ],
    [
      'two sets of authorities',
      '- { method: X509, x509Settings: { trustedClientCaCert: c } }\n- { method: X509, x509Settings: { trustedClientCaCert: d } }',
      /Expected one X509 method/,
    ],
  ])('exits with code 2 for a file with %s', async (_, text, words) => {
    const { write } = await setUp()
    const file = write('authentication.yaml', `authenticationMethods:\n${text}`)
    const outcome = await execute(['serve', ...ANY_PORT, '--authentication', file])
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringMatching(words) })
  })
})
