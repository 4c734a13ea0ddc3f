import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from './refusal.js'

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
  json: 'application/json',
  webmanifest: 'application/manifest+json',
  txt: 'text/plain; charset=utf-8',
}

/** What the system says of a file that is not there. */
const MISSING = ['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG']

/** Folders and one file, all of plain names that begin with no dot: nothing of this leads out of a folder. */
const PATH = /^(?:\/[\w-][\w.-]*)*\/[\w-][\w.-]*\.([a-z0-9]+)$/
const NOT_BUILT =
  'The page of the console is not built: run `npm run build`. What is below /api/ is there all the same.\n'

/** The files of the page. */
export class Page {
  readonly #folder: URL

  constructor(folder: URL) {
    this.#folder = folder
  }

  /** Answers a request for a file; raises {@link Refusal} for what there is not. */
  async answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new Refusal(405, 'method', 'Only GET and HEAD go here', { allow: 'GET, HEAD' })
    }
    const file = path === '/' ? '/index.html' : path
    const type = TYPES[PATH.exec(file)?.[1] ?? '']
    const content = type === undefined ? undefined : await this.#read(file)
    if (content !== undefined) {
      response.writeHead(200, { 'content-type': type, 'content-length': content.length, ...caching(file) })
      response.end(request.method === 'HEAD' ? undefined : content)
    } else if (file === '/index.html') {
      response.writeHead(503, { 'content-type': TYPES['txt'] }).end(NOT_BUILT)
    } else {
      throw new Refusal(404, 'not-found', 'There is no such file')
    }
  }

  async #read(file: string): Promise<Buffer | undefined> {
    try {
      return await readFile(new URL(`.${file}`, this.#folder))
    } catch (error) {
      if (error instanceof Error && 'code' in error && MISSING.includes(String(error.code))) return undefined
      throw error
    }
  }
}

// The names of assets change with their content.
const caching = (file: string): { 'cache-control': string } => ({
  'cache-control': file.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
})
