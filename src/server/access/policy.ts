import { ArgumentError } from '../../core/util/errors.js'
import { GlobTemplate, parseTemplate, type Template } from './template.js'
import { YamlFile, type YamlNode } from './yaml-file.js'

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

/** Bytes of UTF-8. */
const LONGEST_TEXT = 1_024

/**
 * Reads the policy of an AIO `BrokerAuthorization`: the whole resource, its `authorizationPolicies`, or the list of rules
 * that the portal shows, as YAML or JSON. Throws {@link ArgumentError} with line and place for what is not known: a
 * policy that is half understood protects nothing.
 *
 * @example
 * ```ts
 * const policy = parsePolicy(`
 * authorizationPolicies:
 *   rules:
 *   - principals: { usernames: [panel] }
 *     brokerResources: [{ method: Connect }]
 *     stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["*"] }]`)
 * ```
 */
export function parsePolicy(text: string): Policy {
  const { root } = new YamlFile(text)
  if (Array.isArray(root.value)) return { rules: root.list().map(ruleOf) }
  const policies = policiesOf(root)
  const { cache, enableCache, rules } = policies.fields('cache', 'enableCache', 'rules')
  // Rights are looked up once per connection; there is nothing to be switched off.
  cache?.choice('Enabled', 'Disabled')
  if (enableCache && typeof enableCache.value !== 'boolean') throw enableCache.wrong('Expected true or false')
  return { rules: rules?.list().map(ruleOf) ?? [] }
}

function policiesOf(root: YamlNode): YamlNode {
  const { spec, authorizationPolicies, kind } = root.fields(
    'apiVersion',
    'kind',
    'metadata',
    'spec',
    'authorizationPolicies',
  )
  kind?.choice('BrokerAuthorization')
  const found = authorizationPolicies ?? spec?.fields('authorizationPolicies').authorizationPolicies
  if (found === undefined) throw root.wrong('Expected `authorizationPolicies`, got nothing')
  return found
}

function ruleOf(place: YamlNode): Rule {
  const { principals, brokerResources, stateStoreResources } = place.fields(
    'principals',
    'brokerResources',
    'stateStoreResources',
  )
  if (principals === undefined) throw place.wrong('Expected `principals`, got nothing')
  return {
    principals: principalsOf(principals),
    brokerResources: brokerResources?.list().map(brokerResourceOf) ?? [],
    stateStoreResources: stateStoreResources?.list().map(keyResourceOf) ?? [],
  }
}

function principalsOf(place: YamlNode): Principals {
  const { usernames, clientIds, attributes } = place.fields('usernames', 'clientIds', 'attributes')
  return {
    usernames: usernames?.texts() ?? [],
    clientIds: clientIds?.texts() ?? [],
    attributes: attributes?.list().map(attributesOf) ?? [],
  }
}

/** All of none would be everybody. */
function attributesOf(place: YamlNode): Readonly<Record<string, string>> {
  const attributes = place.textMap()
  if (Object.keys(attributes).length === 0) throw place.wrong('Expected an attribute and its value, got none')
  return attributes
}

function brokerResourceOf(place: YamlNode): BrokerResource {
  const { method, clientIds, topics } = place.fields('method', 'clientIds', 'topics')
  if (method === undefined) throw place.wrong('Expected `method`, got nothing')
  const [wanted, useless] = method.value === 'Connect' ? [clientIds, topics] : [topics, clientIds]
  const found = wanted?.list() ?? []
  const name = method.choice('Connect', 'Publish', 'Subscribe')
  // The portal writes empty lists.
  if (useless && useless.list().length > 0) throw useless.wrong(`This means nothing with method ${name}`)
  if (name !== 'Connect' && found.length === 0) throw place.wrong('Expected `topics`, got none')
  if (name === 'Connect') return { method: name, clientIds: found.length === 0 ? undefined : found.map(globOf) }
  return { method: name, topics: found.map(topicOf) }
}

function keyResourceOf(place: YamlNode): KeyResource {
  const { method, keyType, keys } = place.fields('method', 'keyType', 'keys')
  if (method === undefined || keyType === undefined || keys === undefined)
    throw place.wrong('Expected `method`, `keyType` and `keys`')
  const type = keyType.choice('Pattern', 'String', 'Binary')
  return {
    method: method.choice('Read', 'Write', 'ReadWrite'),
    keys: keys.list().map(key => keyPatternOf(type, key)),
  }
}

function keyPatternOf(type: KeyPattern['type'], place: YamlNode): KeyPattern {
  if (type === 'Pattern') return { type, glob: globOf(place) }
  return type === 'String' ? { type, text: templateOf(place) } : { type, bytes: base64Of(place) }
}

const globOf = (place: YamlNode): GlobTemplate => {
  const text = place.text()
  if (new TextEncoder().encode(text).length > LONGEST_TEXT) throw place.wrong(`Expected at most ${LONGEST_TEXT} bytes`)
  return place.try(() => new GlobTemplate(parseTemplate(text)))
}

const templateOf = (place: YamlNode): Template => place.try(() => parseTemplate(place.text()))

/** Wildcards stand alone in their level (MQTT 5.0, section 4.7.1). */
function topicOf(place: YamlNode): Template {
  const levels = place.text().split('/')
  const wrong = levels.some(
    (level, index) => (/[+#]/.test(level) && level.length > 1) || (level === '#' && index < levels.length - 1),
  )
  if (wrong) throw place.wrong('Expected `+` alone in its level, and `#` alone in the last')
  return templateOf(place)
}

function base64Of(place: YamlNode): Uint8Array {
  const text = place.text()
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw place.wrong('Expected Base64 with its padding')
  return new Uint8Array(bytes)
}

/** {@link parsePolicy} of a file; the message begins with its name. */
export function parsePolicyFile(name: string, text: string): Policy {
  try {
    return parsePolicy(text)
  } catch (cause) {
    throw cause instanceof ArgumentError ? new ArgumentError(`${name}: ${cause.message}`, { cause }) : cause
  }
}
