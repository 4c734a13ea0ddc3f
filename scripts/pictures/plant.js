import { bytes, connect, json, number, text } from 'rx-statestore'
import { firstValueFrom, mergeMap, Subscription, timer } from 'rxjs'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HALLS = [1, 2, 3]
const RECIPE = { flour: 1000, water: 680, salt: 20, steps: ['mix', 'rest', 'fold', 'bake'], oven: { celsius: 245.5 } }

/** The keys of a plant's store before the clients start. */
export const SEED = {
  ...Object.fromEntries(HALLS.map(hall => [`hall${hall}\\setPoint`, 19 + hall / 2])),
  'line-1/state': 'running',
  'line-2/state': 'running',
  'line-3/state': 'fault: E-217, door open',
  'line-1/produced': 10_432,
  'line-2/produced': 9_871,
  'recipe/baguette': RECIPE,
  'asset/pump-7': { site: 'Porto', rpm: 1480, service: '2027-03-12' },
  'asset/valve-2': { site: 'Graz', open: true, service: '2027-05-02' },
  'banner/shift': 'Maintenance on Saturday from 06:00 to 09:00; please empty the buffers of line 3 before.',
}

/**
 * Starts the clients of a plant, which write, watch and hold a lock in the same way every time.
 *
 * @param {string} url - URL of the store
 */
export async function startPlant(url) {
  const open = (/** @type {string} */ clientId) => connect(url, { clientId })
  const [halls, lines, panel, gateway] = [open('halls'), open('lines'), open('panel-7'), open('gateway-eu-1')]
  const work = new Subscription()
  const every = (/** @type {number} */ ms, /** @type {(n: number) => import('rxjs').Observable<unknown>} */ write) =>
    work.add(
      timer(ms / 2, ms)
        .pipe(mergeMap(write))
        .subscribe(),
    )

  const lock = await firstValueFrom(gateway.key('line-1/lock', text).set('gateway-eu-1', { expiresIn: 45 * MINUTE }))
  const token = String(lock.version)
  await firstValueFrom(gateway.key('line-1/speed', number).set(12, { fencingToken: token }))
  await firstValueFrom(gateway.key('line-1/image', bytes).set(Uint8Array.from({ length: 64 }, (_, i) => i * 37)))
  await firstValueFrom(panel.key('session/ann', json()).set({ role: 'operator' }, { expiresIn: 95 * SECOND }))
  for (const hall of HALLS) {
    const temperature = halls.key(`hall${hall}\\temperature`, number)
    every(700 + 400 * hall, n => temperature.set(Math.round(10 * (20 + hall / 2 + 1.4 * Math.sin(n / 4 + hall))) / 10))
    work.add(panel.key(`hall${hall}\\temperature`, number).value$.subscribe())
    work.add(panel.key(`hall${hall}\\setPoint`, number).value$.subscribe())
    work.add(panel.key(`line-${hall}/state`, text).value$.subscribe())
  }
  work.add(lines.key('line-1/speed', number).value$.subscribe())
  every(2_200, n => lines.key('line-1/produced', number).set(10_432 + n))
  every(5_100, n => lines.key('line-2/produced', number).set(9_871 + n))
  every(9_000, n => gateway.key('line-1/speed', number).set(12 + (n % 3) / 2, { fencingToken: token }))
  every(13_000, () => lines.key('alarm/door-4', text).set('open', { expiresIn: 8 * SECOND }))
  return {
    stop: async () => {
      work.unsubscribe()
      await Promise.all([halls, lines, panel, gateway].map(client => client.close()))
    },
  }
}
