import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { Authority, type Pair } from '../../../harness/certificates.js'
import { findIssuers } from '../../../src/node/net/peer-chain.js'

const parse = ({ cert }: Pick<Pair, 'cert'>): X509Certificate => new X509Certificate(cert)
const subjects = (chain: readonly X509Certificate[] | undefined) => chain?.map(({ subject }) => subject)

let root: Authority
let admins: Authority
let client: Pair

beforeAll(() => {
  root = new Authority('/CN=Root')
  admins = new Authority('/CN=Admins', root)
  client = admins.issue('/CN=panel')
})

const chainOf = (leaf: Pair, presented: readonly Pick<Pair, 'cert'>[], authorities: readonly Pick<Pair, 'cert'>[]) =>
  subjects(findIssuers(parse(leaf), presented.map(parse), authorities.map(parse)))

describe('The issuers of a client certificate', () => {
  it('the issuers lead from the certificate to the authority', () => {
    expect(chainOf(client, [admins], [root])).toEqual(['CN=Admins', 'CN=Root'])
  })

  it('presented certificates after an issuer that an authority has signed do not matter', () => {
    expect(chainOf(client, [admins, root, admins, client], [root])).toEqual(['CN=Admins', 'CN=Root'])
  })

  it('an intermediate authority may be configured instead of presented', () => {
    expect(chainOf(client, [], [admins, root])).toEqual(['CN=Admins', 'CN=Root'])
  })

  it('a certificate that is itself an authority needs no issuer', () => {
    expect(chainOf(root, [], [root])).toEqual([])
  })

  it('a chain that reaches no authority has no issuers', () => {
    expect(chainOf(client, [admins], [new Authority('/CN=Root')])).toBeUndefined()
    expect(chainOf(client, [], [root])).toBeUndefined()
  })

  it('a forged issuer with the name and key id of the authority is ignored', () => {
    const forgedAdmins = new Authority('/CN=Admins')
    const forgedRoot = forgedAdmins.issue('/CN=Root', { authority: true, claimsKeyOf: root })
    const leaf = root.issue('/CN=evil')
    expect(parse(leaf).checkIssued(parse(forgedRoot))).toBe(true)
    expect(chainOf(leaf, [forgedRoot, forgedAdmins], [root])).toEqual(['CN=Root'])
  })

  it('a forged issuer that claims another authority as its own issuer is ignored', () => {
    const users = new Authority('/CN=Users', root)
    const options = { authority: true, claimsKeyOf: users, claimsIssuer: admins }
    const forgedUsers = new Authority('/CN=Admins').issue('/CN=Users', options)
    const leaf = users.issue('/CN=evil')
    expect(parse(leaf).checkIssued(parse(forgedUsers))).toBe(true)
    expect(parse(forgedUsers).checkIssued(parse(admins))).toBe(true)
    expect(chainOf(leaf, [forgedUsers, admins], [root])).toBeUndefined()
  })

  it('no way to an authority counts other than the one that the handshake verified', () => {
    // The handshake skips the expired certificate, and verifies the one that `root` has issued to the users.
    const users = new Authority('/CN=Users', root)
    const forgedAdmins = Object.assign(new Authority('/CN=Admins'), users.issue('/CN=Admins', { authority: true }))
    const ofUsers = { authority: true, keyOf: users }
    const expired = forgedAdmins.issue('/CN=Users', { ...ofUsers, days: -1 })
    const detour = forgedAdmins.issue('/CN=Users', ofUsers)
    const presented = [expired, detour, forgedAdmins, users]
    expect(chainOf(users.issue('/CN=evil'), presented, [root])).toBeUndefined()
  })

  it('a certificate that is not one of an authority issues nothing', () => {
    const user = admins.issue('/CN=Admins')
    const leaf = Object.assign(new Authority('/CN=Admins'), user).issue('/CN=evil')
    expect(chainOf(leaf, [user, admins], [root])).toBeUndefined()
  })

  it('an expired issuer counts as missing', () => {
    const expired = new Authority('/CN=Old', root)
    const pair = root.issue('/CN=Old', { authority: true, days: -1 })
    const leaf = Object.assign(expired, pair).issue('/CN=panel')
    expect(chainOf(leaf, [pair], [root])).toBeUndefined()
  })

  it('a chain has at most ten certificates', () => {
    const chain = [new Authority('/CN=0')]
    for (let index = 1; index < 10; index++) chain.unshift(new Authority(`/CN=${index}`, chain[0]))
    const [last = root, ...others] = chain
    const top = chain.slice(-1)
    expect(chainOf(last, others, top)).toHaveLength(9)
    expect(chainOf(last.issue('/CN=panel'), chain, top)).toBeUndefined()
  })
})
