import { describe, expect, it } from 'vitest'
import { ArgumentError } from '../../../src/core/util/errors.js'
import { certificates, parseSubject } from '../../../src/server/access/certificates.js'
import type { ClientCertificate, LoginRequest } from '../../../src/server/access/login.js'

// The example of AIO's page on authentication.
const KNOWN = [
  { subject: 'CN = Contoso Root CA Cert, OU = Engineering, C = US', attributes: { organization: 'contoso' } },
  { subject: 'CN = Contoso Intermediate CA', attributes: { city: 'seattle', foo: 'bar' } },
  { subject: 'CN = smart-fan', attributes: { building: '17' } },
]
const ROOT = ['C=US', 'CN=Contoso Root CA Cert', 'OU=Engineering']
const INTERMEDIATE = ['CN=Contoso Intermediate CA']

const login = (certificate: Partial<ClientCertificate> | undefined): LoginRequest => ({
  clientId: 'c',
  username: 'admin',
  password: undefined,
  method: undefined,
  data: undefined,
  state: undefined,
  certificate: certificate && {
    trusted: true,
    subjects: [],
    commonNames: [],
    fingerprint: '',
    validTo: 1,
    ...certificate,
  },
  remoteAddress: undefined,
  listener: 'mqtts',
})

describe('certificates', () => {
  const method = certificates(KNOWN)

  it.each([
    ['its own', [['CN=smart-fan'], INTERMEDIATE, ROOT], { building: '17' }],
    ['its issuer', [['CN=smart-lock'], INTERMEDIATE, ROOT], { city: 'seattle', foo: 'bar' }],
    ['the root', [['CN=smart-lock'], ROOT], { organization: 'contoso' }],
    ['none', [['CN=smart-lock'], ['CN=Other CA']], undefined],
    ['a part of the root', [['CN=smart-lock'], ['CN=Contoso Root CA Cert']], undefined],
  ])('has the attributes of the first subject that is known: %s', async (_, subjects, attributes) => {
    const result = await method(login({ subjects, commonNames: ['x'] }))
    expect(result).toMatchObject({ principal: { username: 'x', attributes, expiresAt: 1 } })
  })

  it.each([
    [['CN=panel, O=contoso'], ['CN=panel', 'O=contoso']],
    [['CN=panel\nO=contoso'], ['CN=panel', 'O=contoso']],
  ])('does not take %j for %j', async (odd, other) => {
    const known = certificates([{ subject: other.join(', '), attributes: { role: 'admin' } }])
    const [one, two] = [await known(login({ subjects: [odd] })), await known(login({ subjects: [other] }))]
    expect(two).toMatchObject({ principal: { attributes: { role: 'admin' } } })
    expect(one).toMatchObject({ principal: { attributes: undefined } })
    expect(Object(one).principal.id).not.toBe(Object(two).principal.id)
  })

  it('has nothing to say about who shows none', async () => {
    expect(await method(login(undefined))).toBeUndefined()
  })

  it.each([
    ['of an authority that is not believed', { trusted: false, subjects: [['CN=smart-fan']] }],
    ['without a subject', { subjects: [] }],
    ['with nothing in its subject, as all have who have none', { subjects: [[], ROOT] }],
  ])('refuses one %s', async (_, certificate) => {
    expect(await method(login(certificate))).toMatchObject({ refused: 'not-authorized' })
  })

  it.each([[[]], [['a', 'b']]])('gives no user name to one with the names %j', async commonNames => {
    expect(await method(login({ subjects: [['O=x']], commonNames }))).toMatchObject({
      principal: { id: 'x509 ["O=x"]', username: undefined },
    })
  })
})

describe('a subject', () => {
  it.each([
    ['CN = a, OU = b', ['CN=a', 'OU=b']],
    ['OU=b,CN=a', ['CN=a', 'OU=b']],
    ['CN = Smith\\, John, O = a = b', ['CN=Smith, John', 'O=a = b']],
  ])('%s', (text, parts) => {
    expect(parseSubject(text)).toEqual(parts)
  })

  it.each(['', 'a', '= b', 'CN =', 'CN = a,'])('is not %j', text => {
    expect(() => parseSubject(text)).toThrow(ArgumentError)
    expect(() => certificates([{ subject: text, attributes: {} }])).toThrow(ArgumentError)
  })
})
