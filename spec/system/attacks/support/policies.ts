/** The attacker has some rights. */
export const SOME_RIGHTS = `
- principals: { usernames: [mallory, innocent] }
  brokerResources:
  - { method: Connect }
  - { method: Publish, topics: ["mallory/#"] }
  - { method: Subscribe, topics: ["mallory/#"] }
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["{principal.username}/*"] }]`

/** The attacker may only connect. */
export const NO_RIGHTS = `
- principals: { usernames: [mallory] }
  brokerResources: [{ method: Connect }]
- principals: { usernames: [innocent] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["innocent/*"] }]`

/** Audience of tokens. */
export const AUDIENCE = 'attacks'
