/** Mallory has rights of her own. */
export const SOME_RIGHTS = `
- principals: { usernames: [mallory, innocent] }
  brokerResources:
  - { method: Connect }
  - { method: Publish, topics: ["mallory/#"] }
  - { method: Subscribe, topics: ["mallory/#"] }
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["{principal.username}/*"] }]`

/** Mallory has none but to connect. */
export const NO_RIGHTS = `
- principals: { usernames: [mallory] }
  brokerResources: [{ method: Connect }]
- principals: { usernames: [innocent] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["innocent/*"] }]`

/** Of tokens. */
export const AUDIENCE = 'attacks'
