import { STATES, type State } from '../../design/states.js'
import { number } from '../../src/client/index.js'
import { Network, PageStore } from './page-store.js'

const KEY = 'thermostat1/setPoint'
const WRITE_EVERY_MS = 1_700
/** The time that the diagram shows. */
const SPAN_MS = 15_000
/** Without a click, the network is cut once in each period, so that readers see it without an action. */
const PERIOD_MS = 16_000
const CUT_FROM_MS = 5_000
const CUT_FOR_MS = 5_000
const [WIDTH, HEIGHT, LEFT, RADIUS] = [560, 190, 24, 15]
const LANES = { store: 58, page: 142 } as const

interface Marble {
  readonly lane: keyof typeof LANES
  readonly at: number
  readonly text: string
}

interface Stretch {
  readonly from: number
  to: number | undefined
}

/**
 * A marble diagram of a real watch: one client writes to a store in this page, another one watches the key, and the
 * network of the second one can be cut.
 */
class LiveMarbles extends HTMLElement {
  #stop: (() => void) | undefined

  connectedCallback(): void {
    this.#stop ??= start(this)
  }

  disconnectedCallback(): void {
    this.#stop?.()
    this.#stop = undefined
  }
}

function start(root: HTMLElement): () => void {
  root.innerHTML = `
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Changes of a key in the store, and what a page receives"></svg>
    <p>
      <span class="state"><svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path /></svg><span role="status"></span></span>
      <button type="button">Cut the network</button>
    </p>`
  const find = (selector: string): Element => {
    const found = root.querySelector(selector)
    if (found === null) throw new Error(`The diagram has no ${selector}`)
    return found
  }
  const [svg, button] = [find('svg'), find('button')]
  const show = (state: State): void => {
    find('.state').setAttribute('data-state', state)
    find('.state path').setAttribute('d', STATES[state].icon)
    find('[role=status]').textContent = STATES[state].word
  }

  const store = new PageStore()
  const network = new Network()
  const writer = store.connect('thermostat', new Network())
  const page = store.connect('page', network)
  const marbles: Marble[] = []
  const stale: Stretch[] = []
  const add = (lane: Marble['lane'], text: string): void => {
    marbles.push({ lane, at: performance.now(), text })
    while (marbles.length > 40) marbles.shift()
  }
  const setCut = (isCut: boolean): void => {
    if (isCut) network.cut()
    else network.mend()
    button.textContent = isCut ? 'Connect again' : 'Cut the network'
    button.classList.toggle('is-cut', isCut)
  }
  let isDirectedByUser = false
  button.addEventListener('click', () => {
    isDirectedByUser = true
    setCut(!network.isCut)
  })

  const watched = page.key(KEY, number)
  const values = watched.value$.subscribe(value => add('page', value === undefined ? '–' : value.toFixed(1)))
  const freshness = watched.freshness$.subscribe(({ state: current }) => {
    const now = performance.now()
    const last = stale.at(-1)
    if (current === 'live') {
      if (last?.to === undefined && last) last.to = now
    } else if (last === undefined || last.to !== undefined) stale.push({ from: now, to: undefined })
    while (stale.length > 10) stale.shift()
    show(current === 'resyncing' ? 'stale' : current)
  })

  let value = 20
  const write = (): void => {
    value = 18 + ((value - 18 + 0.5) % 6)
    writer
      .key(KEY, number)
      .set(value)
      .subscribe({ next: () => add('store', value.toFixed(1)), error: (error: unknown) => console.error(error) })
  }
  write()
  const writing = setInterval(write, WRITE_EVERY_MS)

  const startedAt = performance.now()
  const direct = (): void => {
    // The label of the button must not change below the pointer.
    if (isDirectedByUser || button.matches(':hover, :focus')) return
    const phase = (performance.now() - startedAt) % PERIOD_MS
    const isCut = phase > CUT_FROM_MS && phase < CUT_FROM_MS + CUT_FOR_MS
    if (isCut !== network.isCut) setCut(isCut)
  }
  const directing = setInterval(direct, 100)

  // Without motion, the diagram is redrawn once a second.
  const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches
  const paint = (): void => {
    svg.innerHTML = draw(marbles, stale, performance.now())
  }
  let frame = 0
  const animate = (): void => {
    paint()
    frame = requestAnimationFrame(animate)
  }
  const painting = isCalm ? setInterval(paint, 1_000) : undefined
  if (isCalm) paint()
  else animate()

  return () => {
    clearInterval(writing)
    clearInterval(directing)
    clearInterval(painting)
    cancelAnimationFrame(frame)
    values.unsubscribe()
    freshness.unsubscribe()
    for (const each of [writer, page]) each.close().catch((error: unknown) => console.error(error))
  }
}

function draw(marbles: readonly Marble[], stale: readonly Stretch[], now: number): string {
  const xOf = (at: number): number => WIDTH - 24 - ((now - at) / SPAN_MS) * (WIDTH - 24 - LEFT)
  const clampedX = (at: number): number => Math.max(LEFT, Math.min(xOf(at), WIDTH - 24))
  const bands = stale.map(({ from, to }) => {
    const [start, end] = [clampedX(from), clampedX(to ?? now)]
    return `<rect class="outage" x="${start}" y="${LANES.page - 30}" width="${Math.max(0, end - start)}" height="60" rx="6"/>`
  })
  const arrows = Object.entries(LANES).map(([lane, y]) => {
    const name = lane === 'store' ? 'the key in the store' : 'key.value$ in your page'
    return `<text class="lane" x="${LEFT - 12}" y="${y - 34}">${name}</text>
      <path class="time" d="M${LEFT - 12} ${y}H${WIDTH - 8}m-8 -5l8 5l-8 5"/>`
  })
  const circles = marbles
    .filter(({ at }) => xOf(at) >= LEFT)
    .map(({ lane, at, text }) => {
      const x = xOf(at).toFixed(1)
      return `<g class="${lane}"><circle cx="${x}" cy="${LANES[lane]}" r="${RADIUS}"/><text x="${x}" y="${LANES[lane] + 4}">${text}</text></g>`
    })
  return [...bands, ...arrows, ...circles].join('')
}

customElements.define('live-marbles', LiveMarbles)
