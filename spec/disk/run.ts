import { concatBytes } from '../../src/base/bytes.js'
import type { Files } from '../../src/disk/files.js'
import { openLog } from '../../src/disk/open.js'
import type { Engine } from '../../src/engine/engine.js'
import type { Entry } from '../../src/engine/entry.js'
import type { LogFailure } from '../../src/log/log.js'
import { encodeState } from '../../src/log/state-codec.js'
import { START } from '../support/manual-clock.js'

const SILENT = { expired: () => undefined, answered: () => undefined, loaded: () => undefined }

/** A state in hexadecimal digits. */
export const pictureOf = (engine: Engine<never>): string =>
  Buffer.from(concatBytes([...encodeState(engine.capture())])).toString('hex')

/** An engine on a directory, and what its log said. */
export class Run {
  /** How the state was when it was opened, and after each entry that was committed. */
  readonly pictures: string[]
  readonly refusals: LogFailure[] = []
  readonly troubles: unknown[] = []
  readonly engine: Engine<never>
  readonly #append: (entry: Entry) => void
  readonly close: () => Promise<void>
  #waiting = 0
  #settled: () => void = () => undefined

  private constructor({ engine, log }: Awaited<ReturnType<typeof openLog<never>>>, troubles: unknown[]) {
    this.engine = engine
    this.pictures = [pictureOf(engine)]
    this.troubles = troubles
    this.close = async () => log.close()
    this.#append = entry => log.append(entry)
    log.listen({
      committed: entry => {
        engine.apply(entry, SILENT)
        this.pictures.push(pictureOf(engine))
        this.#done()
      },
      rejected: (_, failure) => {
        this.refusals.push(failure)
        this.#done()
      },
    })
  }

  static async open(files: Files, worthReplacing = 16 * 1024 * 1024): Promise<Run> {
    const troubles: unknown[] = []
    const options = { now: () => START, troubled: (trouble: unknown) => void troubles.push(trouble), worthReplacing }
    return new Run(await openLog<never>(files, options), troubles)
  }

  /** Appends all at once, and waits until something has become of each. */
  async append(entries: readonly Entry[]): Promise<void> {
    if (entries.length === 0) return
    this.#waiting = entries.length
    const settled = new Promise<void>(resolve => {
      this.#settled = resolve
    })
    for (const entry of entries) this.#append(entry)
    await settled
  }

  #done(): void {
    if (--this.#waiting === 0) this.#settled()
  }
}
