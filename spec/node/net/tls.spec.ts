import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../../harness/certificates.js'
import { validityOf } from '../../../src/node/net/tls.js'

describe('The validity of a chain of certificates', () => {
  const authority = new Authority('/CN=Contoso Root CA')
  const limits = (cert: string) => {
    const { validFrom, validTo } = new X509Certificate(cert)
    return { notBefore: Date.parse(validFrom), notAfter: Date.parse(validTo) }
  }

  it.each([
    ['server certificate', 1],
    ['authority', 9],
  ])('the chain expires with its %s if that expires first', (_, days) => {
    const { cert } = authority.issue('/CN=localhost', { days })
    const expected = Math.min(limits(cert).notAfter, limits(authority.cert).notAfter)
    expect(validityOf(`${cert}\n${authority.cert}`).notAfter).toBe(expected)
    expect(validityOf(`${authority.cert}${cert}`).notAfter).toBe(expected)
  })

  it('the chain is valid from the latest start of its certificates', () => {
    const { cert } = authority.issue('/CN=localhost')
    expect(validityOf(`${cert}${authority.cert}`).notBefore).toBe(limits(cert).notBefore)
  })
})
