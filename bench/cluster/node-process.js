// A node of a store in a process of its own.
import { jetStreamLog } from 'rx-statestore/jetstream'
import { serve } from 'rx-statestore/server'

const [servers = '', nodeId = '', port = '0'] = process.argv.slice(2)
const log = jetStreamLog({ servers, name: 'bench', nodeId })
const store = await serve({ port: Number(port), wsPort: 0, maxKeys: 2_000_000, log })

/** @param {object} question */
function answer(question) {
  if ('type' in question && question.type === 'most') return 1024 * process.resourceUsage().maxRSS
  return { keys: store.stats.keys, leader: store.cluster?.leader }
}

process.on('message', question => process.send?.(answer(Object(question))))
process.on('disconnect', () => void store.close())
process.send?.(store.url)
