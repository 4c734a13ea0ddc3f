// What the site is made of: each document of the repository with its page, in the order of the sidebar.

/** @type {readonly { readonly title: string, readonly pages: readonly (readonly [source: string, page: string])[] }[]} */
export const PARTS = [
  {
    title: 'Guide',
    pages: [
      ['README.md', 'guide'],
      ['docs/tutorial.md', 'tutorial'],
      ['docs/client.md', 'client'],
      ['docs/choosing.md', 'choosing'],
      ['docs/cheat-sheet.md', 'cheat-sheet'],
      ['docs/guarantees.md', 'guarantees'],
      ['docs/requests.md', 'requests'],
      ['docs/writing.md', 'writing'],
      ['docs/shadows.md', 'shadows'],
      ['docs/frameworks.md', 'frameworks'],
      ['docs/node-red.md', 'node-red'],
      ['docs/browser.md', 'browser'],
      ['docs/locking.md', 'locking'],
      ['docs/pubsub.md', 'pubsub'],
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

/** Entry points by the page that TypeDoc makes of them. */
export const API = {
  client: 'rx-statestore',
  'client/lease': 'rx-statestore/lease',
  'client/matching': 'rx-statestore/matching',
  'client/react': 'rx-statestore/react',
  'node/settings': 'rx-statestore/settings',
  server: 'rx-statestore/server',
  'server/log/jetstream': 'rx-statestore/jetstream',
  'server/console': 'rx-statestore/console',
  'pubsub/client': 'rx-statestore/pubsub',
  'pubsub/hub': 'rx-statestore/pubsub/server',
  'pubsub/bridge': 'rx-statestore/bridge',
}
