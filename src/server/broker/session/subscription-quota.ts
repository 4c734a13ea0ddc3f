import type { Budget } from '../limits/budget.js'
import { LIMIT } from '../limits/limits.js'
import { subscriptionSize } from '../routing/subscription.js'
import type { Accounts } from './accounts.js'
import type { Session } from './session.js'

/** Where subscriptions are counted. */
export interface SubscriptionCounts {
  readonly budget: Budget
  readonly accounts: Accounts
}

/** Counts another subscription of a session; returns whether there is room for it. */
export function countSubscription(session: Session, filter: string, { budget, accounts }: SubscriptionCounts): boolean {
  if (session.subscriptions.size >= LIMIT.subscriptions) return false
  if (session.account?.subscriptions.take() === false) return false
  if (accounts.subscriptions.take()) {
    if (budget.take(subscriptionSize(filter))) return true
    accounts.subscriptions.give()
  }
  session.account?.subscriptions.give()
  return false
}

/** A subscription of a session is gone. */
export function discountSubscription(session: Session, filter: string, { budget, accounts }: SubscriptionCounts): void {
  session.account?.subscriptions.give()
  accounts.subscriptions.give()
  budget.give(subscriptionSize(filter))
}
