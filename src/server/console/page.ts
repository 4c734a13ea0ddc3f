import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { HttpProblem } from './http.js'

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

const compressed = promisify(gzip)
/** What is worth the work, and from which size on, bytes. */
const COMPRESSIBLE = ['html', 'js', 'css', 'svg', 'json', 'txt']
const SMALLEST_COMPRESSED = 1_024

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

  /** Answers a request for a file; raises {@link HttpProblem} for what there is not. */
  async answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new HttpProblem(405, 'method', 'Only GET and HEAD go here', { allow: 'GET, HEAD' })
    }
    const file = path === '/' ? '/index.html' : path
    const extension = PATH.exec(file)?.[1] ?? ''
    const type = TYPES[extension]
    const content = type === undefined ? undefined : await this.#read(file)
    if (content !== undefined) {
      const worthwhile = COMPRESSIBLE.includes(extension) && content.length >= SMALLEST_COMPRESSED
      const zipped = worthwhile && takesGzip(request) ? await compressed(content) : undefined
      const body = zipped ?? content
      response.writeHead(200, {
        'content-type': type,
        'content-length': body.length,
        ...(zipped && { 'content-encoding': 'gzip' }),
        ...(worthwhile && { vary: 'accept-encoding' }),
        ...caching(file),
      })
      response.end(request.method === 'HEAD' ? undefined : body)
    } else if (file === '/index.html') {
      response.writeHead(503, { 'content-type': TYPES['txt'] }).end(NOT_BUILT)
    } else {
      throw new HttpProblem(404, 'not-found', 'There is no such file')
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

const takesGzip = ({ headers }: IncomingMessage): boolean =>
  /(?:^|[\s,])gzip\s*(?:,|$|;\s*q=(?!0(?:\.0*)?\s*(?:,|$)))/.test(String(headers['accept-encoding'] ?? ''))

// The names of assets change with their content.
const caching = (file: string): { 'cache-control': string } => ({
  'cache-control': file.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
})
