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
const MAX_PATTERN_BYTES = 1_024

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
  if (Array.isArray(root.value)) return { rules: root.list().map(parseRule) }
  const policies = policiesOf(root)
  const { cache, enableCache, rules } = policies.fields('cache', 'enableCache', 'rules')
  // Rights are looked up once per connection; there is nothing to be switched off.
  cache?.choice('Enabled', 'Disabled')
  if (enableCache && typeof enableCache.value !== 'boolean') throw enableCache.error('Expected true or false')
  return { rules: rules?.list().map(parseRule) ?? [] }
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
  if (found === undefined) throw root.error('Expected `authorizationPolicies`, got nothing')
  return found
}

function parseRule(node: YamlNode): Rule {
  const { principals, brokerResources, stateStoreResources } = node.fields(
    'principals',
    'brokerResources',
    'stateStoreResources',
  )
  if (principals === undefined) throw node.error('Expected `principals`, got nothing')
  return {
    principals: parsePrincipals(principals),
    brokerResources: brokerResources?.list().map(parseBrokerResource) ?? [],
    stateStoreResources: stateStoreResources?.list().map(parseKeyResource) ?? [],
  }
}

function parsePrincipals(node: YamlNode): Principals {
  const { usernames, clientIds, attributes } = node.fields('usernames', 'clientIds', 'attributes')
  return {
    usernames: usernames?.texts() ?? [],
    clientIds: clientIds?.texts() ?? [],
    attributes: attributes?.list().map(parseAttributes) ?? [],
  }
}

/** All of none would be everybody. */
function parseAttributes(node: YamlNode): Readonly<Record<string, string>> {
  const attributes = node.textMap()
  if (Object.keys(attributes).length === 0) throw node.error('Expected an attribute and its value, got none')
  return attributes
}

function parseBrokerResource(node: YamlNode): BrokerResource {
  const { method, clientIds, topics } = node.fields('method', 'clientIds', 'topics')
  if (method === undefined) throw node.error('Expected `method`, got nothing')
  const [expected, unexpected] = method.value === 'Connect' ? [clientIds, topics] : [topics, clientIds]
  const found = expected?.list() ?? []
  const name = method.choice('Connect', 'Publish', 'Subscribe')
  // The portal writes empty lists.
  if (unexpected && unexpected.list().length > 0) throw unexpected.error(`This means nothing with method ${name}`)
  if (name !== 'Connect' && found.length === 0) throw node.error('Expected `topics`, got none')
  if (name === 'Connect') return { method: name, clientIds: found.length === 0 ? undefined : found.map(parseGlob) }
  return { method: name, topics: found.map(parseTopic) }
}

function parseKeyResource(node: YamlNode): KeyResource {
  const { method, keyType, keys } = node.fields('method', 'keyType', 'keys')
  if (method === undefined || keyType === undefined || keys === undefined)
    throw node.error('Expected `method`, `keyType` and `keys`')
  const type = keyType.choice('Pattern', 'String', 'Binary')
  return {
    method: method.choice('Read', 'Write', 'ReadWrite'),
    keys: keys.list().map(key => parseKeyPattern(type, key)),
  }
}

function parseKeyPattern(type: KeyPattern['type'], node: YamlNode): KeyPattern {
  if (type === 'Pattern') return { type, glob: parseGlob(node) }
  return type === 'String' ? { type, text: parseTextTemplate(node) } : { type, bytes: parseBase64(node) }
}

const parseGlob = (node: YamlNode): GlobTemplate => {
  const text = node.text()
  if (new TextEncoder().encode(text).length > MAX_PATTERN_BYTES)
    throw node.error(`Expected at most ${MAX_PATTERN_BYTES} bytes`)
  return node.locateErrors(() => new GlobTemplate(parseTemplate(text)))
}

const parseTextTemplate = (node: YamlNode): Template => node.locateErrors(() => parseTemplate(node.text()))

/** Wildcards stand alone in their level (MQTT 5.0, section 4.7.1). */
function parseTopic(node: YamlNode): Template {
  const levels = node.text().split('/')
  const isInvalid = levels.some(
    (level, index) => (/[+#]/.test(level) && level.length > 1) || (level === '#' && index < levels.length - 1),
  )
  if (isInvalid) throw node.error('Expected `+` alone in its level, and `#` alone in the last')
  return parseTextTemplate(node)
}

function parseBase64(node: YamlNode): Uint8Array {
  const text = node.text()
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw node.error('Expected Base64 with its padding')
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
