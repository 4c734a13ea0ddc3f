import { ArgumentError } from '../../core/util/errors.js'
import { GlobTemplate, parseTemplate, type Template } from './template.js'
import { YamlFile, type YamlNode } from './yaml-file.js'

/** The principals of a rule. A client must match one of them. */
export interface Principals {
  readonly usernames: readonly string[]
  readonly clientIds: readonly string[]
  /** A map matches when all its attributes match. */
  readonly attributes: readonly Readonly<Record<string, string>>[]
}

export type BrokerResource =
  /** The client ids that may connect. `undefined` permits any client id. */
  | { readonly method: 'Connect'; readonly clientIds: readonly GlobTemplate[] | undefined }
  | { readonly method: 'Publish' | 'Subscribe'; readonly topics: readonly Template[] }

export interface KeyResource {
  readonly method: 'Read' | 'Write' | 'ReadWrite'
  readonly keys: readonly KeyPattern[]
}

export type KeyPattern =
  | { readonly type: 'Pattern'; readonly glob: GlobTemplate }
  | { readonly type: 'String'; readonly text: Template }
  | { readonly type: 'Binary'; readonly bytes: Uint8Array }

export interface Rule {
  readonly principals: Principals
  readonly brokerResources: readonly BrokerResource[]
  readonly stateStoreResources: readonly KeyResource[]
}

/** An allow list. Any action that no rule grants is denied. */
export interface Policy {
  readonly rules: readonly Rule[]
}

const MAX_PATTERN_BYTES = 1_024

/**
 * Parses the policy of an AIO `BrokerAuthorization`: the whole resource, its `authorizationPolicies`, or the list of
 * rules shown in the portal, as YAML or JSON. Throws {@link ArgumentError} with line and path for any unknown content,
 * because a partly understood policy does not protect.
 *
 * @example
 * ```ts
 * const policy = parsePolicy(`
 * authorizationPolicies:
 *   rules:
 *   - principals: { usernames: [panel] }
 *     brokerResources: [{ method: Connect }]
 *     stateStoreResources:
 *     - { method: ReadWrite, keyType: Pattern, keys: ["*"] }`)
 * ```
 */
export function parsePolicy(text: string): Policy {
  const { root } = new YamlFile(text)
  if (Array.isArray(root.value)) return { rules: root.list().map(parseRule) }
  const policies = policiesOf(root)
  const { cache, enableCache, rules } = policies.fields('cache', 'enableCache', 'rules')
  // The cache settings are validated but have no effect, because rights are always computed once per connection.
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
  if (found === undefined) throw root.error('Expected `authorizationPolicies`, but it is missing')
  return found
}

function parseRule(node: YamlNode): Rule {
  const { principals, brokerResources, stateStoreResources } = node.fields(
    'principals',
    'brokerResources',
    'stateStoreResources',
  )
  if (principals === undefined) throw node.error('Expected `principals`, but it is missing')
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

/** Rejects an empty map, which would match every client. */
function parseAttributes(node: YamlNode): Readonly<Record<string, string>> {
  const attributes = node.textMap()
  if (Object.keys(attributes).length === 0) throw node.error('Expected an attribute and its value, got none')
  return attributes
}

function parseBrokerResource(node: YamlNode): BrokerResource {
  const { method, clientIds, topics } = node.fields('method', 'clientIds', 'topics')
  if (method === undefined) throw node.error('Expected `method`, but it is missing')
  const [expected, unexpected] = method.value === 'Connect' ? [clientIds, topics] : [topics, clientIds]
  const found = expected?.list() ?? []
  const name = method.choice('Connect', 'Publish', 'Subscribe')
  // The portal writes empty lists for fields that do not apply.
  if (unexpected && unexpected.list().length > 0) throw unexpected.error(`Not allowed with method ${name}`)
  if (name !== 'Connect' && found.length === 0) throw node.error('Expected `topics`, got none')
  if (name === 'Connect') return { method: name, clientIds: found.length === 0 ? undefined : found.map(parseGlob) }
  return { method: name, topics: found.map(parseTopic) }
}

function parseKeyResource(node: YamlNode): KeyResource {
  const { method, keyType, keys } = node.fields('method', 'keyType', 'keys')
  if (method === undefined || keyType === undefined || keys === undefined)
    throw node.error('Expected `method`, `keyType` and `keys`, but at least one is missing')
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

/** Parses a topic filter, in which `+` and `#` must occupy a whole level (MQTT 5.0, section 4.7.1). */
function parseTopic(node: YamlNode): Template {
  const levels = node.text().split('/')
  const isInvalid = levels.some(
    (level, index) => (/[+#]/.test(level) && level.length > 1) || (level === '#' && index < levels.length - 1),
  )
  if (isInvalid) throw node.error('Expected `+` to fill its level, and `#` to fill the last level')
  return parseTextTemplate(node)
}

function parseBase64(node: YamlNode): Uint8Array {
  const text = node.text()
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw node.error('Expected Base64 with padding')
  return new Uint8Array(bytes)
}

export function parsePolicyFile(name: string, text: string): Policy {
  try {
    return parsePolicy(text)
  } catch (cause) {
    throw cause instanceof ArgumentError ? new ArgumentError(`${name}: ${cause.message}`, { cause }) : cause
  }
}
