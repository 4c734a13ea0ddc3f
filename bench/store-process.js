// A store in a process of its own, so that client and store have a core each.
import { serve } from 'rx-statestore/server'

const store = await serve({ port: 0, wsPort: 0 })
process.send?.(store.url)
process.on('message', message => {
  if (typeof message === 'object' && message !== null && 'cut' in message) store.cut(String(message.cut))
})
process.on('disconnect', () => void store.close())
