import { beforeAll, describe, expect, it } from 'vitest'
import { Authority, type Pair } from '../../../harness/certificates.js'
import { certificates, firstOf, type LoginRequest } from '../../../src/server/index.js'
import { openStore } from '../../support/open-store.js'
import { StoreClient } from '../../support/store-client.js'

const ROLES = [{ subject: 'CN = Admin CA, O = Plant', attributes: { role: 'admin' } }]

let root: Authority
let admins: Authority
let server: Pair

beforeAll(() => {
  root = new Authority('/CN=Root/O=Plant')
  admins = new Authority('/CN=Admin CA/O=Plant', root)
  server = root.issue('/CN=localhost')
})

async function open() {
  const requests: LoginRequest[] = []
  const method = certificates(ROLES)
  const authenticate = firstOf([
    Object.assign((request: LoginRequest) => {
      requests.push(request)
      return method(request)
    }, method),
  ])
  const { store } = await openStore({ tls: { ...server, clientCa: root.cert }, authenticate })
  return { store, requests }
}

const withIssuers = ({ cert, key }: Pair, ...issuers: readonly Pick<Pair, 'cert'>[]) => ({
  ca: root.cert,
  cert: [cert, ...issuers.map(issuer => issuer.cert)].join(''),
  key,
})

describe.each(['url', 'wsUrl'] as const)('a client certificate at the %s of a store', name => {
  it('the issuers that lead to the authority are known to the login', async () => {
    const { store, requests } = await open()
    await StoreClient.connect(store[name], 'boss', withIssuers(admins.issue('/CN=boss'), admins))
    const subjects = [['CN=boss'], ['CN=Admin CA', 'O=Plant'], ['CN=Root', 'O=Plant']]
    expect(requests).toMatchObject([{ certificate: { trusted: true, commonNames: ['boss'], subjects } }])
  })

  it('issuers that the client has forged are not part of its chain', async () => {
    const { store, requests } = await open()
    const forgedAdmins = new Authority('/CN=Admin CA/O=Plant')
    const forgedRoot = forgedAdmins.issue('/CN=Root/O=Plant', { authority: true, claimsKeyOf: root })
    const identity = withIssuers(root.issue('/CN=evil'), forgedRoot, forgedAdmins)
    await StoreClient.connect(store[name], 'evil', identity)
    const subjects = [['CN=evil'], ['CN=Root', 'O=Plant']]
    expect(requests.map(({ certificate }) => certificate?.subjects)).toEqual([subjects])
  })

  it('only the first certificate of an untrusted client is read', async () => {
    const { store, requests } = await open()
    const other = new Authority('/CN=Other')
    const identity = withIssuers(other.issue('/CN=evil'), other)
    await expect(StoreClient.connect(store[name], 'evil', identity)).rejects.toMatchObject({ code: 0x87 })
    expect(requests).toMatchObject([{ certificate: { trusted: false, subjects: [['CN=evil']] } }])
  })
})
