// Requests per second of this library against a hand-written loop, on the same store, in turns.
import { fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { handWritten, ours } from './contestants.js'
import { measureWatch } from './watch.js'

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 3 : 7
const REQUESTS = quick ? { 1: 500, 256: 5_000 } : { 1: 4_000, 256: 40_000 }
const SIZES = quick ? [16] : [16, 1024]

/** @param {string} text */
const progress = text => process.stderr.isTTY && process.stderr.write(`\r${text.padEnd(50)}\r`)

/** @param {number[]} numbers */
const median = numbers => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

const child = fork(new URL('./store-process.js', import.meta.url).pathname)
const url = await new Promise(resolve => child.once('message', resolve))
/** @type {{ verb: string, size: number, inFlight: number, loop: number, ours: number, ratio: number, spread: number }[]} */
const rows = []

for (const size of SIZES) {
  const contestants = [await handWritten(url, new Uint8Array(size)), await ours(url, new Uint8Array(size))]
  for (const verb of /** @type {const} */ (['SET', 'GET'])) {
    for (const inFlight of /** @type {const} */ ([1, 256])) {
      const requests = REQUESTS[inFlight]
      /** @type {number[][]} */
      const rates = contestants.map(() => [])
      for (const { run } of contestants) await run(verb, inFlight, requests / 5)
      for (let round = 0; round < ROUNDS; round++) {
        for (const [i, { run }] of contestants.entries()) {
          progress(`${verb} ${size} B, ${inFlight} in flight: round ${round + 1} of ${ROUNDS}`)
          const started = performance.now()
          await run(verb, inFlight, requests)
          rates[i]?.push((requests / (performance.now() - started)) * 1000)
        }
      }
      const [loop = [], own = []] = rates
      const ratios = own.map((rate, i) => rate / (loop[i] ?? Number.NaN))
      const spread = Math.max(...ratios) - Math.min(...ratios)
      rows.push({ verb, size, inFlight, loop: median(loop), ours: median(own), ratio: median(ratios), spread })
    }
  }
  for (const { close } of contestants) await close()
}
const keys = quick ? 1_000 : 10_000
progress(`${keys} watched keys`)
const watch = await measureWatch(url, keys, clientId => child.send({ cut: clientId }))
child.disconnect()
progress('')

const line = (/** @type {(string | number)[]} */ cells) =>
  cells.map((cell, i) => String(cell).padStart(i === 0 ? 4 : 13)).join('')
console.log(line(['verb', 'bytes', 'in flight', 'mqtt.js loop', 'ours', 'ratio', 'spread']))
for (const row of rows) {
  const rates = [row.loop, row.ours].map(rate => `${Math.round(rate)}/s`)
  console.log(line([row.verb, row.size, row.inFlight, ...rates, `${row.ratio.toFixed(2)}x`, row.spread.toFixed(2)]))
}
console.log(`\n${keys} watched keys, ${watch.bytesPerKey} bytes of heap each`)
for (const [phase, ms] of Object.entries(watch.phases)) console.log(`${phase.padEnd(22)}${String(ms).padStart(7)} ms`)
writeFileSync(
  new URL('./results.json', import.meta.url),
  `${JSON.stringify({ quick, rounds: ROUNDS, rows, watch }, null, 2)}\n`,
)
