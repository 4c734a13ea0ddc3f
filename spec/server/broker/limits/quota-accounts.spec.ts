import { describe, expect, it } from 'vitest'
import { Timeouts } from '../../../../src/core/util/timeouts.js'
import { type BrokerQuotas, NO_QUOTAS, QuotaAccounts } from '../../../../src/server/broker/limits/quota-accounts.js'
import type { SessionOwner } from '../../../../src/server/broker/session/handler.js'
import { ReadThrottle } from '../../../../src/server/broker/transport/read-throttle.js'
import { ManualClock } from '../../../support/manual-clock.js'

const ownerOf = (id: string): SessionOwner => ({
  id,
  canConnect: true,
  maySubscribe: () => true,
  canReceive: () => true,
})
const FAR = '192.0.2.1'

const open = (quotas: BrokerQuotas = NO_QUOTAS) => {
  let now = 0
  const accounts = new QuotaAccounts(quotas, () => now)
  return {
    accounts,
    wait: (ms: number) => {
      now += ms
    },
  }
}

describe('the quota account of a client', () => {
  it('belongs to its principal, regardless of its address', () => {
    const { accounts } = open()
    const account = accounts.of(ownerOf('is alice'), FAR)
    expect(accounts.of(ownerOf('is alice'), '127.0.0.1')).toBe(account)
    expect(accounts.of(ownerOf('is bob'), FAR)).not.toBe(account)
  })

  it('belongs to its address if the client is anonymous, or to the network for an IPv6 address', () => {
    const { accounts } = open()
    const account = accounts.of(undefined, '2001:db8::1')
    expect(account?.name).toBe('at 2001:db8:0:0::/64')
    expect(accounts.of(ownerOf(''), '2001:db8::2')).toBe(account)
    expect(accounts.of(undefined, '2001:db8:0:1::1')).not.toBe(account)
  })

  it('a local anonymous client has no quota account and no rate limit', () => {
    const { accounts } = open()
    for (const address of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1', '', undefined]) {
      expect(accounts.of(undefined, address)).toBeUndefined()
      expect(accounts.rateAccountsOf(address)).toEqual([])
    }
  })

  it('includes the total rate limit if one is configured', () => {
    const { accounts } = open({ ...NO_QUOTAS, total: { ...NO_QUOTAS.total, packetsPerSecond: 5 } })
    expect(accounts.rateAccountsOf('127.0.0.1')).toHaveLength(1)
    expect(accounts.rateAccountsOf(FAR)).toHaveLength(2)
  })
})

describe('QuotaAccounts', () => {
  it('accounts are removed when they hold nothing and their rates have recovered', () => {
    const { accounts, wait } = open({ ...NO_QUOTAS, principal: { ...NO_QUOTAS.principal, packetsPerSecond: 1 } })
    const [rich, hasty] = [accounts.of(ownerOf('rich'), FAR), accounts.of(ownerOf('hasty'), FAR)]
    rich?.subscriptions.tryReserve()
    hasty?.charge(60, 0, 0)
    for (let i = 0; i < 5_000; i++) accounts.of(ownerOf(`poor ${i}`), FAR)
    const names = (): string[] => Array.from(accounts.principals, ({ name }) => name)
    expect(names()).toContain('rich')
    expect(names()).toContain('hasty')
    expect(names().length).toBeLessThan(1_100)
    wait(60_000)
    for (let i = 0; i < 2_000; i++) accounts.of(ownerOf(`poor ${i}`), FAR)
    expect(names()).not.toContain('hasty')
    expect(names()).toContain('rich')
  })

  it('address accounts are kept while they pause connections', () => {
    const clock = new ManualClock()
    const { accounts } = open({ ...NO_QUOTAS, address: { ...NO_QUOTAS.address, packetsPerSecond: 5 } })
    const timeouts = new Timeouts<() => void>(clock, task => task())
    const pacers = accounts.rateAccountsOf(FAR)
    const tempo = new ReadThrottle({ clock, timeouts }, pacers, () => undefined)
    const others = (): void => {
      for (let i = 0; i < 5_000; i++) accounts.rateAccountsOf(`10.0.${i >> 8}.${i & 255}`)
    }
    others()
    expect(accounts.rateAccountsOf(FAR)[0]).toBe(pacers[0])
    tempo.stop()
    others()
    expect(accounts.rateAccountsOf(FAR)[0]).not.toBe(pacers[0])
  })
})
