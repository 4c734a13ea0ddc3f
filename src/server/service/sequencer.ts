import { afterIo } from '../../core/util/clock.js'
import { Fifo } from '../../core/util/fifo.js'
import type { Applier, Change } from '../engine/answer.js'
import type { Entry, EntryCommand, Room } from '../engine/entry.js'
import type { Log, LogFailure, LogListener } from '../log/log.js'
import { Batch, type Job } from './batch.js'
import { Hold } from './hold.js'
import { Onlooker, SILENT } from './onlooker.js'
import { Performer } from './performer.js'

/** Where entries are applied, and what goes with that. */
export interface SequencerHost {
  readonly now: () => number
  /** Runs a task after so many ms; the returned function cancels it. */
  schedule(delay: number, task: () => void): () => void
  /** Runs a task when what the event loop has read is worked off; default {@link afterIo}. */
  readonly afterIo?: ((task: () => void) => void) | undefined
  readonly room: () => Room
  /** Returns whether a command would leave so much less that it pays for its place in a log; default no. */
  frees?(command: EntryCommand): boolean
  apply(entry: Entry, applier: Applier): void
  /** Changes that nobody here asked for: keys are gone, as their time was over, or another node's clients have changed some. */
  expired(changes: readonly Change[]): void
  /** An entry is applied, or will never be. */
  settled(failure: LogFailure | undefined): void
  /** An error of ours in a job that had to wait; all others are done nevertheless. */
  faulted(error: unknown): void
}

/** What waits for the log may have so many bytes; more is refused. */
const MOST_BYTES = 256 * 1024 * 1024
/** One entry has no more bytes, unless a command alone has. */
const LARGEST_ENTRY = 8 * 1024 * 1024

/**
 * Sees to the order of what connections ask for. What changes records is gathered and goes through the log, and is done
 * when it is there; what only reads is done at once, unless something that came before it on its connection waits.
 */
export class Sequencer implements LogListener {
  readonly #log: Log
  readonly #host: SequencerHost
  #gathering: Batch | undefined
  readonly #onItsWay = new Fifo<Batch>()
  /** The last batch that a connection waits for. */
  readonly #last = new WeakMap<object, Batch>()
  readonly #hold: Hold
  readonly #performer: Performer
  readonly #others: Applier
  #scheduled = false
  #stopped = false
  #bytes = 0

  constructor(log: Log, host: SequencerHost) {
    this.#log = log
    this.#host = host
    this.#hold = new Hold(host, () => this.#flush())
    this.#performer = new Performer(host)
    this.#others = new Onlooker(changes => host.expired(changes))
    log.listen(this)
  }

  /** Why nothing more is taken for the log, if what waits for it takes all the room there is. */
  get full(): 'full' | 'unavailable' | undefined {
    if (this.#bytes < (this.#log.sharing?.waiting ?? MOST_BYTES)) return undefined
    return this.#log.sharing ? 'unavailable' : 'full'
  }

  /**
   * Does a job that changes nothing, in its place among those of its owner.
   *
   * @param bytes - what it takes while it waits
   * @param confirmed - it is to see all that was committed before it came, also by others
   */
  read(owner: object, bytes: number, job: Job, confirmed = false): void {
    if (confirmed) {
      this.#confirm(owner, bytes, job)
      return
    }
    const last = this.#bytes === 0 ? undefined : this.#last.get(owner)
    if (last === undefined || last.done) {
      job.read()
      return
    }
    this.#bytes += last.add(job, undefined, bytes)
  }

  /**
   * Has a command logged and applied; returns whether it is on its way as soon as what the event loop has read is worked off.
   *
   * @param bytes - what the command takes while it waits
   */
  write(owner: object, command: EntryCommand, bytes: number, job: Job): boolean {
    if (this.#log.immediate) {
      this.#performer.alone(job, () => this.#append([command]))
      return false
    }
    if (this.#gathering !== undefined && this.#gathering.bytes + bytes > this.#largest) this.#flush()
    this.#gathering ??= new Batch()
    const batch = this.#gathering
    this.#bytes += batch.add(job, command, bytes)
    if (batch.passesTo(owner)) this.#last.set(owner, batch)
    this.#schedule()
    return this.#scheduled && this.#log.sharing === undefined
  }

  /** Has the time logged, so that what is due expires; what its owner asks for from now on waits for that. */
  tick(owner?: object): void {
    if (this.#log.immediate) {
      this.#append([])
      return
    }
    if (this.#gathering === undefined) {
      this.#gathering = new Batch()
      this.#bytes += this.#gathering.hold(0)
    }
    this.#gathering.expires = true
    if (owner !== undefined) this.#last.set(owner, this.#gathering)
    this.#schedule()
  }

  /** Nothing is done any more. */
  stop(): void {
    this.#stopped = true
    this.#hold.end()
  }

  committed(entry: Entry): void {
    if (this.#log.immediate) {
      if (this.#stopped) return
      this.#host.apply(entry, this.#performer)
      this.#host.settled(undefined)
      return
    }
    const batch = this.#onItsWay.shift()
    if (batch === undefined) return
    this.#flushOrHold(batch)
    try {
      if (!this.#stopped) this.#performer.perform(batch, entry)
      // What this node sends to others says what it has applied.
      else if (this.#log.sharing) this.#host.apply(entry, SILENT)
    } finally {
      this.#finish(batch, undefined)
    }
  }

  foreign(entry: Entry): void {
    this.#host.apply(entry, this.#stopped ? SILENT : this.#others)
    if (!this.#stopped) this.#host.settled(undefined)
  }

  rejected(entry: Entry, failure: LogFailure): void {
    const batch = this.#takeBack(entry)
    if (batch === undefined) return
    if (this.#triesAgain(batch, failure)) return
    batch.done = true
    if (!this.#stopped) {
      // A write that was too large says nothing of what others have changed: the reads that came with it go with the next.
      const stay = this.#log.sharing !== undefined && failure.problem === 'full' && batch.commands.length > 0
      for (const end of batch.failing(failure, !stay)) this.#performer.guard(end)
      if (stay) for (const job of batch.reads) this.#confirm({}, 0, job)
    }
    this.#finish(batch, failure)
    this.#flush()
  }

  /** A full disk has a reserve for what frees room: the rest of a batch is refused, and that is appended once more. */
  #triesAgain(batch: Batch, failure: LogFailure): boolean {
    const { frees } = this.#host
    if (failure.problem !== 'full' || this.#log.sharing || this.#stopped || batch.frees || frees === undefined)
      return false
    for (const end of batch.keepFreeing(failure, command => this.#host.frees?.(command) === true))
      this.#performer.guard(end)
    if (batch.commands.length === 0 && !batch.expires) return false
    this.#onItsWay.push(batch)
    this.#append(batch.commands, true)
    return true
  }

  /** The batch of an entry: not the oldest one when the log refuses a new entry while others are on their way. */
  #takeBack({ commands }: Entry): Batch | undefined {
    const batches = Array.from(this.#onItsWay)
    const batch = batches.find(each => each.commands === commands)
    if (batch === undefined || batch === batches[0]) return this.#onItsWay.shift()
    this.#onItsWay.clear()
    for (const each of batches) if (each !== batch) this.#onItsWay.push(each)
    return batch
  }

  /** A read gets an entry of its own, or goes with the next one that there is anyhow. */
  #confirm(owner: object, bytes: number, job: Job): void {
    this.#gathering ??= new Batch()
    const batch = this.#gathering
    this.#bytes += batch.add(job, undefined, bytes)
    if (batch.passesTo(owner)) this.#last.set(owner, batch)
    this.#schedule()
  }

  /** One entry has no more bytes, unless a command alone has. */
  get #largest(): number {
    return this.#log.sharing?.batch ?? LARGEST_ENTRY
  }

  #append(commands: readonly EntryCommand[], frees = false): void {
    const { maxKeys, maxBytes } = this.#host.room()
    this.#log.append({ time: this.#host.now(), maxKeys, maxBytes, commands }, frees)
  }

  #finish(batch: Batch, failure: LogFailure | undefined): void {
    batch.done = true
    this.#bytes -= batch.bytes
    this.#host.settled(failure)
  }

  /** Whether what is gathered has to wait for what is on its way. */
  get #isWaiting(): boolean {
    return this.#onItsWay.length >= (this.#log.sharing?.window ?? 1)
  }

  /** The log shall not wait while this is applied, unless more will come with the answers. */
  #flushOrHold(batch: Batch): void {
    const { pause, sharing } = this.#log
    // What comes in this turn goes together, as others are on their way.
    if (sharing) this.#schedule()
    else if (pause === 0 || batch.commands.length === 0) this.#flush()
    else this.#hold.begin(pause, batch.commands.length + this.#gathered)
  }

  get #gathered(): number {
    return this.#gathering?.commands.length ?? 0
  }

  #schedule(): void {
    // What is on its way takes along what was gathered when it is there.
    if (this.#scheduled || this.#isWaiting || this.#hold.keeps(this.#gathered)) return
    this.#scheduled = true
    const soon = this.#host.afterIo ?? afterIo
    soon(() => {
      this.#scheduled = false
      if (!this.#isWaiting) this.#flush()
    })
  }

  #flush(): void {
    const batch = this.#gathering
    if (batch === undefined) return
    this.#gathering = undefined
    this.#onItsWay.push(batch)
    this.#append(batch.commands)
  }
}
