// A store of this package at a broker of others, in a process of its own.
import { attach } from 'rx-statestore/server'
import { filter, firstValueFrom } from 'rxjs'

const [url = ''] = process.argv.slice(2)
const store = await attach(url)
await firstValueFrom(store.state$.pipe(filter(({ state }) => state === 'serving')))
process.on('disconnect', () => void store.close())
process.send?.('serving')
