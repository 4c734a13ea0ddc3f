import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { isError } from '../../core/util/built-in-types.js'
import { HttpProblem } from '../../node/net/http-problem.js'

const CONTENT_TYPES: Readonly<Record<string, string>> = {
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

const compress = promisify(gzip)
const COMPRESSIBLE = ['html', 'js', 'css', 'svg', 'json', 'txt']
const MIN_COMPRESSED_BYTES = 1_024

const NOT_FOUND_CODES = ['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG']

/** Matches paths of plain names without a leading dot, so that no path leads out of the folder. */
const FILE_PATH = /^(?:\/[\w-][\w.-]*)*\/[\w-][\w.-]*\.([a-z0-9]+)$/
const NOT_BUILT = 'The console page is not built: run `npm run build`. The API below /api/ is available.\n'

export class PageFiles {
  readonly #folder: URL

  constructor(folder: URL) {
    this.#folder = folder
  }

  /** Responds to a request for a file. Throws {@link HttpProblem} if the file does not exist. */
  async serve(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new HttpProblem(405, 'method', 'Use GET or HEAD', { allow: 'GET, HEAD' })
    }
    const file = path === '/' ? '/index.html' : path
    const extension = FILE_PATH.exec(file)?.[1] ?? ''
    const type = CONTENT_TYPES[extension]
    const content = type === undefined ? undefined : await this.#read(file)
    if (content !== undefined) {
      const isCompressible = COMPRESSIBLE.includes(extension) && content.length >= MIN_COMPRESSED_BYTES
      const compressed = isCompressible && acceptsGzip(request) ? await compress(content) : undefined
      const body = compressed ?? content
      response.writeHead(200, {
        'content-type': type,
        'content-length': body.length,
        ...(compressed && { 'content-encoding': 'gzip' }),
        ...(isCompressible && { vary: 'accept-encoding' }),
        ...caching(file),
      })
      response.end(request.method === 'HEAD' ? undefined : body)
    } else if (file === '/index.html') {
      response.writeHead(503, { 'content-type': CONTENT_TYPES['txt'] }).end(NOT_BUILT)
    } else {
      throw new HttpProblem(404, 'not-found', 'File not found')
    }
  }

  async #read(file: string): Promise<Buffer | undefined> {
    try {
      return await readFile(new URL(`.${file}`, this.#folder))
    } catch (error) {
      if (isError(error) && 'code' in error && NOT_FOUND_CODES.includes(String(error.code))) return undefined
      throw error
    }
  }
}

const acceptsGzip = ({ headers }: IncomingMessage): boolean =>
  /(?:^|[\s,])gzip\s*(?:,|$|;\s*q=(?!0(?:\.0*)?\s*(?:,|$)))/.test(String(headers['accept-encoding'] ?? ''))

// Asset names contain a content hash, so their files never change.
const caching = (file: string): { 'cache-control': string } => ({
  'cache-control': file.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
})
