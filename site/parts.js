// What the site is made of: each document of the repository with its page, in the order of the sidebar.

/** @type {readonly { readonly title: string, readonly pages: readonly (readonly [source: string, page: string])[] }[]} */
export const PARTS = [
  {
    title: 'Quickstart',
    pages: [
      ['docs/tutorial.md', 'tutorial'],
      ['README.md', 'guide'],
      ['docs/choosing.md', 'choosing'],
      ['docs/cheat-sheet.md', 'cheat-sheet'],
    ],
  },
  {
    title: 'Concepts',
    pages: [
      ['docs/client.md', 'client'],
      ['docs/guarantees.md', 'guarantees'],
      ['docs/requests.md', 'requests'],
      ['docs/writing.md', 'writing'],
      ['docs/locking.md', 'locking'],
      ['docs/shadows.md', 'shadows'],
      ['docs/pubsub.md', 'pubsub'],
    ],
  },
  {
    title: 'Recipes',
    pages: [
      ['docs/frameworks.md', 'frameworks'],
      ['docs/browser.md', 'browser'],
      ['docs/node-red.md', 'node-red'],
      ['docs/coming-from-mqtt.md', 'coming-from-mqtt'],
      ['docs/testing.md', 'testing'],
      ['docs/troubleshooting.md', 'troubleshooting'],
    ],
  },
  {
    title: 'Running a store',
    pages: [
      ['docs/deploying.md', 'deploying'],
      ['docs/cluster.md', 'cluster'],
      ['docs/any-broker.md', 'any-broker'],
      ['docs/security.md', 'security'],
      ['docs/broker.md', 'broker'],
      ['docs/console.md', 'console'],
      ['docs/observability.md', 'observability'],
      ['docs/runbooks.md', 'runbooks'],
      ['bench/README.md', 'benchmarks'],
    ],
  },
  {
    title: 'Reference',
    pages: [
      ['docs/errors.md', 'errors'],
      ['docs/command-line.md', 'command-line'],
      ['docs/runtimes.md', 'runtimes'],
      ['CHANGELOG.md', 'changes'],
      ['SECURITY.md', 'reporting'],
      ['CONTRIBUTING.md', 'contributing'],
    ],
  },
]

/**
 * Entry points in the order of the sidebar: the page that TypeDoc makes of each, the guide it links to, and its items by
 * subject. Names that no group has follow behind them.
 *
 * @type {readonly { readonly page: string, readonly entry: string, readonly guide: string, readonly groups: readonly (readonly [title: string, names: readonly string[]])[] }[]}
 */
export const API = [
  {
    page: 'client',
    entry: 'rx-statestore',
    guide: 'client',
    groups: [
      ['Start', ['connect', 'Key']],
      ['Operators', ['set', 'deleteKey', 'deleteIf', 'OperatorOptions', 'PipelineOptions', 'Failure', 'ItemResult']],
      ['Client', ['StateStore', 'StoreView', 'Scan', 'escapeGlob', 'Status']],
      ['Values', ['Entry', 'Freshness', 'GoneReason', 'Hlc']],
      ['Codecs', ['text', 'number', 'boolean', 'json', 'jsonLines', 'bytes', 'Codec']],
      [
        'Requests',
        ['StoreRequest', 'SetResult', 'DeleteResult', 'SetOptions', 'DeleteOptions', 'RequestOptions', 'AbortOptions'],
      ],
      [
        'Connection options',
        [
          'ConnectOptions',
          'ClientOptions',
          'BrokerAddress',
          'BackoffOptions',
          'Credentials',
          'Authentication',
          'ReconnectStrategy',
          'Clock',
          'systemClock',
          'backoff',
        ],
      ],
      [
        'Errors',
        [
          'StateStoreError',
          'ErrorCode',
          'ErrorCodes',
          'ServiceErrorCode',
          'TimeoutError',
          'OutcomeUnknownError',
          'ServiceError',
          'NoStoreError',
          'ArgumentError',
          'ClosedError',
          'AbortError',
          'OverflowError',
          'ConnectionRefusedError',
          'ConnectionLostError',
          'RequestRejectedError',
          'DecodeError',
          'PayloadError',
          'HlcError',
        ],
      ],
    ],
  },
  {
    page: 'client/optimistic',
    entry: 'rx-statestore/optimistic',
    guide: 'writing',
    groups: [['Start', ['optimistic', 'Optimistic', 'OptimisticOptions', 'OptimisticState', 'OptimisticResult']]],
  },
  { page: 'node/file-storage', entry: 'rx-statestore/optimistic/file', guide: 'writing', groups: [] },
  { page: 'client/matching', entry: 'rx-statestore/matching', guide: 'client', groups: [] },
  {
    page: 'client/lease',
    entry: 'rx-statestore/lease',
    guide: 'locking',
    groups: [['Start', ['lease', 'withLock', 'fenced', 'leadership', 'Lease', 'LeaseState', 'LeaseOptions']]],
  },
  {
    page: 'client/react',
    entry: 'rx-statestore/react',
    guide: 'frameworks',
    groups: [['Start', ['useKey', 'useKeys', 'useStatus']]],
  },
  { page: 'client/react/writable', entry: 'rx-statestore/optimistic/react', guide: 'frameworks', groups: [] },
  {
    page: 'client/shadow',
    entry: 'rx-statestore/shadow',
    guide: 'shadows',
    groups: [['Start', ['shadow', 'Shadow', 'ShadowState', 'Delta', 'ShadowOptions']]],
  },
  { page: 'client/retained', entry: 'rx-statestore/retained', guide: 'coming-from-mqtt', groups: [] },
  { page: 'core/diagnostics', entry: 'rx-statestore/diagnostics', guide: 'observability', groups: [] },
  { page: 'opentelemetry', entry: 'rx-statestore/opentelemetry', guide: 'observability', groups: [] },
  { page: 'server/metrics', entry: 'rx-statestore/metrics', guide: 'observability', groups: [] },
  { page: 'node/settings', entry: 'rx-statestore/settings', guide: 'client', groups: [] },
  {
    page: 'server',
    entry: 'rx-statestore/server',
    guide: 'deploying',
    groups: [
      ['Start', ['serve', 'StoreServer', 'ServeOptions']],
      ['At an existing broker', ['attach', 'AttachedStore', 'AttachOptions', 'AttachedState', 'AttachedStats']],
    ],
  },
  { page: 'server/log/jetstream', entry: 'rx-statestore/jetstream', guide: 'cluster', groups: [] },
  { page: 'server/console', entry: 'rx-statestore/console', guide: 'console', groups: [] },
  {
    page: 'pubsub/client',
    entry: 'rx-statestore/pubsub',
    guide: 'pubsub',
    groups: [['Start', ['connectPubSub', 'PubSubClient', 'Group', 'sendToGroup', 'sendEvent']]],
  },
  {
    page: 'pubsub/hub',
    entry: 'rx-statestore/pubsub/server',
    guide: 'pubsub',
    groups: [['Start', ['servePubSub', 'PubSubServer', 'Hub', 'ServePubSubOptions']]],
  },
  {
    page: 'pubsub/bridge',
    entry: 'rx-statestore/bridge',
    guide: 'pubsub',
    groups: [['Start', ['bridge', 'Bridge', 'BridgeOptions']]],
  },
]
