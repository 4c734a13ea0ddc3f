import { concatBytes } from '../../../../src/core/util/bytes.js'
import type { Engine } from '../../../../src/server/engine/engine.js'
import type { LogEntry } from '../../../../src/server/engine/entry.js'
import type { Files } from '../../../../src/server/log/disk/files.js'
import { openLog } from '../../../../src/server/log/disk/open.js'
import type { LogFailure } from '../../../../src/server/log/log.js'
import { encodeState } from '../../../../src/server/log/state-codec.js'
import { START } from '../../../support/manual-clock.js'

/** A size at which preallocated space is left after some entries and used up by others. */
const PREALLOCATE_BYTES = 300
/** Returns a clock for which every flush is slow. */
export const slowly = (): (() => number) => {
  let time = 0
  return () => (time += 10)
}

/** Returns a state in hexadecimal digits. */
export const pictureOf = (engine: Engine<never>): string =>
  Buffer.from(concatBytes([...encodeState(engine.capture())])).toString('hex')

/** An engine with its disk log, and the outcomes that the log reported. */
export class Run {
  /** The states at opening and after each committed entry. */
  readonly pictures: string[]
  readonly refusals: LogFailure[] = []
  readonly troubles: unknown[] = []
  readonly engine: Engine<never>
  readonly #append: (entry: LogEntry) => void
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
      onCommitted: entry => {
        engine.replay(entry)
        this.pictures.push(pictureOf(engine))
        this.#done()
      },
      onRejected: (_, failure) => {
        this.refusals.push(failure)
        this.#done()
      },
    })
  }

  /** @param monotonic - the clock that measures flushes; by default, this clock stands still */
  static async open(files: Files, minLogBytes = 16 * 1024 * 1024, monotonic = () => 0, isForced = false): Promise<Run> {
    const troubles: unknown[] = []
    const sizes = { minLogBytes, preallocateBytes: PREALLOCATE_BYTES, steadyFlushes: 0 }
    const onError = (error: unknown): void => void troubles.push(error)
    return new Run(await openLog<never>(files, { now: () => START, monotonic, onError, sizes, isForced }), troubles)
  }

  /** Appends entries together and waits for all outcomes. */
  async append(entries: readonly LogEntry[]): Promise<void> {
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
