import { readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { randomBytes } from '../core/util/bytes.js'
import { reason } from '../core/util/errors.js'
import { EXIT, Failure } from './failure.js'

const TOKEN_BYTES = 32
const OWNER_ONLY = 0o600
/** What is made has 43 characters. */
const TOKEN = /^[\w-]{32,512}$/

/** The token in a file; raises {@link Failure} when there is none in it. */
export function readConsoleToken(file: string): string {
  const token = contentOf(file)
  if (token === undefined) throw new Failure(EXIT.usage, `there is no token of a console in ${file}: no such file`)
  return checked(token, file)
}

/** The token in a file, which is made with a random one if there is none. Rejects with {@link Failure}. */
export async function keptConsoleToken(file: string): Promise<string> {
  const kept = contentOf(file)
  if (kept !== undefined) return checked(kept, file)
  const token = Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url')
  try {
    // Whole or not at all, also when the machine stops meanwhile.
    const part = `${file}.part`
    const handle = await open(part, 'w', OWNER_ONLY)
    try {
      await handle.writeFile(`${token}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(part, file)
  } catch (cause) {
    throw new Failure(EXIT.failed, `cannot keep the token of the console: ${reason(cause)}`, { cause })
  }
  return token
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new Failure(EXIT.usage, `cannot read the file of --console-token-file: ${reason(cause)}`, { cause })
  }
}

function checked(token: string, file: string): string {
  if (TOKEN.test(token)) return token
  // Not the content, which may be a secret of somebody else.
  throw new Failure(
    EXIT.usage,
    `there is no token of a console in ${file}: that is one line of 32 or more letters, digits, - and _`,
  )
}
