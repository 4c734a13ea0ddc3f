// A store with a directory, which specs kill. Its arguments are the directory and the port.
import { serve } from '../../../src/server/index.js'

const [data = '', port] = process.argv.slice(2)
process.stdout.write('opening\n')
const store = await serve({ port: Number(port), wsPort: 0, data })
process.stdout.write(`${store.url}\n`)
process.on('SIGTERM', () => void store.close())
