/** A policy that gives the attacker some rights. */
export const SOME_RIGHTS = `
- principals: { usernames: [mallory, innocent] }
  brokerResources:
  - { method: Connect }
  - { method: Publish, topics: ["mallory/#"] }
  - { method: Subscribe, topics: ["mallory/#"] }
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["{principal.username}/*"] }]`

/** A policy that lets the attacker only connect. */
export const NO_RIGHTS = `
- principals: { usernames: [mallory] }
  brokerResources: [{ method: Connect }]
- principals: { usernames: [innocent] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["innocent/*"] }]`

export const AUDIENCE = 'attacks'
