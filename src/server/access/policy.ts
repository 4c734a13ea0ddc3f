import type { GlobTemplate } from './globs.js'
import type { Template } from './template.js'

/** Whom a rule is about: any one of these suffices. */
export interface Principals {
  readonly usernames: readonly string[]
  readonly clientIds: readonly string[]
  /** All of one map have to be there. */
  readonly attributes: readonly Readonly<Record<string, string>>[]
}

/** What may be done at the broker. */
export type BrokerResource =
  /** `clientIds`: by whatever id that fits one of these; `undefined` for any. */
  | { readonly method: 'Connect'; readonly clientIds: readonly GlobTemplate[] | undefined }
  | { readonly method: 'Publish' | 'Subscribe'; readonly topics: readonly Template[] }

/** Keys that may be read, written or both. */
export interface KeyResource {
  readonly method: 'Read' | 'Write' | 'ReadWrite'
  readonly keys: readonly KeyPattern[]
}

/** Some keys: those that fit a glob, the one of a text, or the one of some bytes. */
export type KeyPattern =
  | { readonly type: 'Pattern'; readonly glob: GlobTemplate }
  | { readonly type: 'String'; readonly text: Template }
  | { readonly type: 'Binary'; readonly bytes: Uint8Array }

/** Who may do what. */
export interface Rule {
  readonly principals: Principals
  readonly brokerResources: readonly BrokerResource[]
  readonly stateStoreResources: readonly KeyResource[]
}

/** All rules; what none of them grants is refused. */
export interface Policy {
  readonly rules: readonly Rule[]
}
