// What the site is made of: each document of the repository with its page, in the order of the sidebar.

/** @type {readonly { readonly title: string, readonly pages: readonly (readonly [source: string, page: string])[] }[]} */
export const PARTS = [
  {
    title: 'Guide',
    pages: [
      ['README.md', 'guide'],
      ['docs/guarantees.md', 'guarantees'],
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
      ['docs/runtimes.md', 'runtimes'],
      ['CHANGELOG.md', 'changes'],
      ['SECURITY.md', 'reporting'],
      ['CONTRIBUTING.md', 'contributing'],
    ],
  },
]

/** Entry points by the page that TypeDoc makes of them. */
export const API = {
  index: 'rx-statestore',
  lease: 'rx-statestore/lease',
  matching: 'rx-statestore/matching',
  react: 'rx-statestore/react',
  settings: 'rx-statestore/settings',
  standalone: 'rx-statestore/server',
  jetstream: 'rx-statestore/jetstream',
  console: 'rx-statestore/console',
  pubsub: 'rx-statestore/pubsub',
  'pubsub/server': 'rx-statestore/pubsub/server',
  bridge: 'rx-statestore/bridge',
}
