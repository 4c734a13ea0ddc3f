// Sets a value twice and exits. The first write of a process takes longer, because its code is not compiled yet.

import { connect, number } from 'rx-statestore'
import { filter, firstValueFrom } from 'rxjs'

const [url = '', key = ''] = process.argv.slice(2)
const client = connect(url)
await firstValueFrom(client.status$.pipe(filter(({ state }) => state === 'connected')))
const setPoint = client.key(key, number)
await setPoint.set(20)
await setPoint.set(21.5)
await client.close()
