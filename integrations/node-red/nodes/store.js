const { register } = require('./common.js')

/** @param {import('./node-red.js').Red} RED */
module.exports = async RED => {
  const { connect } = await import('rx-statestore')

  register(
    RED,
    'state store',
    (node, { url, clientId }) => {
      /** @type {ReturnType<typeof connect> | undefined} */
      let store

      // Connects on first use, so that an unused config node opens no connection.
      node.open = () => {
        if (store !== undefined) return store
        const urls = String(url ?? '').split(',')
        store = connect(
          urls.map(address => address.trim()),
          {
            ...(typeof clientId === 'string' && clientId !== '' && { clientId }),
            ...(node.credentials?.username && { username: node.credentials.username }),
            ...(node.credentials?.password && { password: node.credentials.password }),
          },
        )
        store.errors$.subscribe(error => node.warn(error))
        store.status$.subscribe(status => {
          if (status.state === 'closed' && status.cause) node.error(status.cause)
        })
        return store
      }

      node.on('close', (_removed, done) => {
        if (store === undefined) done()
        else store.close().then(() => done(), done)
      })
    },
    { credentials: { username: { type: 'text' }, password: { type: 'password' } } },
  )
}
