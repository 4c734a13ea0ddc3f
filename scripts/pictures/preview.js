import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = new URL('../../', import.meta.url)
/** The size that sites expect of a picture for links, in pixels. */
const SIZE = { width: 1200, height: 630 }
const FONTS = {
  'Inter Variable': '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2',
  'JetBrains Mono Variable': '@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2',
}

/** A marble: its lane, its distance from the left edge in pixels, its value. @typedef {readonly ['store' | 'page', number, string]} Marble */

/** Where the connection is lost and found. */
const [CUT, BACK] = [470, 800]
/** @type {readonly Marble[]} */
const MARBLES = [
  ['store', 130, '20.5'],
  ['page', 150, '20.5'],
  ['store', 280, '21.0'],
  ['page', 300, '21.0'],
  ['store', 430, '21.5'],
  ['page', 450, '21.5'],
  ['store', 580, '22.0'],
  ['store', 730, '22.5'],
  ['page', 830, '22.5'],
  ['store', 910, '23.0'],
  ['page', 930, '23.0'],
  ['store', 1040, '23.5'],
  ['page', 1060, '23.5'],
]
const LANES = { store: 80, page: 230 }

/**
 * Draws the picture that chats and other sites show for a link to the site.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} folder - where to write the PNG file
 */
export async function photographPreview(browser, folder) {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' })
  await page.setContent(await html())
  await page.evaluate('document.fonts.ready')
  await writeFile(join(folder, 'preview.png'), await page.screenshot())
  await page.close()
}

async function html() {
  const tokens = await readFile(new URL('design/tokens.css', ROOT), 'utf8')
  const faces = await Promise.all(
    Object.entries(FONTS).map(async ([family, path]) => {
      const font = await readFile(new URL(`node_modules/${path}`, ROOT), 'base64')
      return `@font-face { font-family: "${family}"; font-weight: 100 900; src: url(data:font/woff2;base64,${font}) }`
    }),
  )
  const lanes = Object.entries(LANES).map(
    ([lane, y]) =>
      `<path d="M60 ${y}H1140m-14 -9l14 9l-14 9"/><text x="60" y="${y - 42}">${lane === 'store' ? 'the key in the store' : 'key.value$ in your page'}</text>`,
  )
  const circles = MARBLES.map(
    ([lane, x, value]) =>
      `<g class="${lane}"><circle cx="${x}" cy="${LANES[lane]}" r="27"/><text x="${x}" y="${LANES[lane] + 6}">${value}</text></g>`,
  )
  return `<!doctype html><style>${tokens}${faces.join('')}
    body { margin: 0; background: var(--paper); color: var(--ink); font-family: var(--sans) }
    header { display: flex; align-items: center; gap: 20px; padding: 56px 60px 0; font-size: 30px; font-weight: 620 }
    header svg { width: 110px } header path { fill: none; stroke: var(--line-strong); stroke-width: 1.4 }
    header circle { fill: var(--accent) } .past { fill: var(--accent-soft); stroke: var(--accent); stroke-width: 1.2 }
    h1 { margin: 40px 60px 0; font-size: 64px; font-weight: 680; letter-spacing: -0.03em }
    main svg { display: block; margin-top: 56px } main path { fill: none; stroke: var(--line-strong); stroke-width: 2.5 }
    main text { font: 22px var(--mono); fill: var(--ink-3) } main circle { fill: var(--surface); stroke: var(--ink-3); stroke-width: 2.5 }
    .page circle { fill: var(--accent-soft); stroke: var(--accent) } g text { font: 600 18px var(--sans); fill: var(--ink); text-anchor: middle }
    rect { fill: var(--warn-soft) } .stale { font: 600 20px var(--sans); fill: var(--warn); text-anchor: middle }
  </style>
  <header><svg viewBox="0 0 34 16"><path d="M1 8h29M27.5 4.5L31.5 8l-4 3.5"/><circle class="past" cx="6" cy="8" r="3"/><circle class="past" cx="14" cy="8" r="3"/><circle cx="22.5" cy="8" r="4"/></svg> rx-statestore</header>
  <h1>Live state for RxJS over MQTT.</h1>
  <main><svg width="1200" height="300">
    <rect x="${CUT}" y="${LANES.page - 46}" width="${BACK - CUT}" height="92" rx="10"/>
    ${lanes.join('')}<text class="stale" x="${(CUT + BACK) / 2}" y="${LANES.page - 14}">stale, connecting again</text>${circles.join('')}
  </svg></main>`
}
