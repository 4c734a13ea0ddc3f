// Runs a node of a store as a separate process.
import { jetStreamLog } from 'rx-statestore/jetstream'
import { serve } from 'rx-statestore/server'

const [servers = '', nodeId = '', port = '0'] = process.argv.slice(2)
const log = jetStreamLog({ servers, name: 'bench', nodeId })
const store = await serve({ port: Number(port), wsPort: 0, maxKeys: 2_000_000, log })

/** @param {object} request */
function handle(request) {
  if ('type' in request && request.type === 'peak') return 1024 * process.resourceUsage().maxRSS
  return { keys: store.stats.keys, leader: store.cluster?.leader }
}

process.on('message', request => process.send?.(handle(Object(request))))
process.on('disconnect', () => void store.close())
process.send?.(store.url)
