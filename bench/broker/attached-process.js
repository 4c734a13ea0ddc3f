// Runs a store attached to an existing broker as a separate process.
import { attach } from 'rx-statestore/server'
import { filter, firstValueFrom } from 'rxjs'

const [url = ''] = process.argv.slice(2)
const store = await attach(url)
await firstValueFrom(store.state$.pipe(filter(({ state }) => state === 'serving')))
process.on('disconnect', () => void store.close())
process.send?.('serving')
