import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { ArgumentError } from '../../../src/core/util/errors.js'
import { certificates, parseSubject, readCertificate } from '../../../src/server/access/certificates.js'
import type { ClientCertificate, LoginRequest } from '../../../src/server/access/login.js'

// Example from AIO's documentation page on authentication.
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

describe('certificate authentication', () => {
  const method = certificates(KNOWN)

  it.each([
    ['its own subject', [['CN=smart-fan'], INTERMEDIATE, ROOT], { building: '17' }],
    ['the subject of its issuer', [['CN=smart-lock'], INTERMEDIATE, ROOT], { city: 'seattle', foo: 'bar' }],
    ['the subject of the root', [['CN=smart-lock'], ROOT], { organization: 'contoso' }],
    ['no known subject', [['CN=smart-lock'], ['CN=Other CA']], undefined],
    ['a subset of the root subject', [['CN=smart-lock'], ['CN=Contoso Root CA Cert']], undefined],
  ])('a client has the attributes of the first known subject in its chain: %s', async (_, subjects, attributes) => {
    const result = await method(login({ subjects, commonNames: ['x'] }))
    expect(result).toMatchObject({ principal: { username: 'x', attributes, expiresAt: 1 } })
  })

  it.each([
    [['CN=panel, O=contoso'], ['CN=panel', 'O=contoso']],
    [['CN=panel\nO=contoso'], ['CN=panel', 'O=contoso']],
  ])('the attributes of subject %j are not granted to a certificate with subject %j', async (odd, other) => {
    const known = certificates([{ subject: other.join(', '), attributes: { role: 'admin' } }])
    const [one, two] = [await known(login({ subjects: [odd] })), await known(login({ subjects: [other] }))]
    expect(two).toMatchObject({ principal: { attributes: { role: 'admin' } } })
    expect(one).toMatchObject({ principal: { attributes: undefined } })
    expect(Object(one).principal.id).not.toBe(Object(two).principal.id)
  })

  it('passes a request without a certificate to the next method', async () => {
    expect(await method(login(undefined))).toBeUndefined()
  })

  it.each([
    ['of an untrusted authority', { trusted: false, subjects: [['CN=smart-fan']] }],
    ['without a chain', { subjects: [] }],
    ['with an empty subject', { subjects: [[], ROOT] }],
  ])('a certificate %s is rejected', async (_, certificate) => {
    expect(await method(login(certificate))).toMatchObject({ refused: 'not-authorized' })
  })

  it.each([[[]], [['a', 'b']]])('a certificate with the common names %j has no user name', async commonNames => {
    expect(await method(login({ subjects: [['O=x']], commonNames }))).toMatchObject({
      principal: { id: 'x509 ["O=x"]', username: undefined },
    })
  })
})

describe('a certificate subject', () => {
  it.each([
    ['CN = a, OU = b', ['CN=a', 'OU=b']],
    ['OU=b,CN=a', ['CN=a', 'OU=b']],
    ['CN = Smith\\, John, O = a = b', ['CN=Smith, John', 'O=a = b']],
    ['O = x, CN = b + OU=a', ['CN=b + OU=a', 'O=x']],
    ['CN = C++, O = a + b', ['CN=C\\+\\+', 'O=a \\+ b']],
    ['CN = a \\+ O = b', ['CN=a \\+ O = b']],
    ['CN = a\\\\, 1.2.3 = x', ['1.2.3=x', 'CN=a\\\\']],
  ])('the subject %s is parsed', (text, parts) => {
    expect(parseSubject(text)).toEqual(parts)
  })

  it.each(['', 'a', '= b', 'CN =', 'CN = a,'])('the subject %j is rejected', text => {
    expect(() => parseSubject(text)).toThrow(ArgumentError)
    expect(() => certificates([{ subject: text, attributes: {} }])).toThrow(ArgumentError)
  })
})

describe('the names in a certificate', () => {
  const authority = new Authority('/CN=Root')
  const read = (subject: string) =>
    readCertificate({ isTrusted: true, leaf: new X509Certificate(authority.issue(subject).cert), issuers: [] })
  const attributesOf = async (subject: string, known: string) =>
    certificates([{ subject: known, attributes: { role: 'admin' } }])(login(read(subject)))

  it.each([
    ['/CN=panel/O=x', ['CN=panel', 'O=x'], ['panel']],
    ['/CN=a\nO=admins', ['CN=a\nO=admins'], ['a\nO=admins']],
    ['/CN=a, O=admins', ['CN=a, O=admins'], ['a, O=admins']],
    ['/CN=a + O=admins', ['CN=a \\+ O=admins'], ['a + O=admins']],
    ['/CN=a\\/O=\\,é #', ['CN=a\\\\', 'O=\\\\,é #'], ['a\\']],
    ['/CN=#0405/CN= b ', ['CN= b ', 'CN=#0405'], ['#0405', ' b ']],
  ])('no value of the subject %j can look like another part', (subject, parts, commonNames) => {
    expect(read(subject)).toMatchObject({ subjects: [parts], commonNames })
  })

  it.each([
    ['/CN=Admins/O=Plant', 'O = plant, CN = ADMINS'],
    ['/CN=  the   admins ', 'CN = the admins'],
    ['/CN=C++ team', 'CN = C++ team'],
  ])('the subject %j equals the configured %j, as for OpenSSL', async (subject, known) => {
    expect(await attributesOf(subject, known)).toMatchObject({ principal: { attributes: { role: 'admin' } } })
  })

  it.each([
    ['/CN=Admins', 'CN = Admins, O = Plant'],
    ['/CN=Admins + O=Plant', 'CN = Admins + O = Plant'],
    ['/CN=Ädmins', 'CN = ädmins'],
  ])('the subject %j differs from the configured %j', async (subject, known) => {
    expect(await attributesOf(subject, known)).toMatchObject({ principal: { attributes: undefined } })
  })

  it('principals whose names differ only in case own different sessions', async () => {
    const [one, two] = [await attributesOf('/CN=Panel', 'O = x'), await attributesOf('/CN=panel', 'O = x')]
    expect(Object(one).principal.id).not.toBe(Object(two).principal.id)
  })
})
