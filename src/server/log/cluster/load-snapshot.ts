import { catchError, concat, defer, EMPTY, last, map, mergeMap, type Observable, of, take, tap } from 'rxjs'
import type { StateTaker } from '../../engine/state.js'
import { damaged } from '../errors.js'
import { type Judging, Replica } from './replica.js'
import { SnapshotReader } from './snapshot-codec.js'
import { positionOf } from './snapshot-name.js'
import type { SnapshotName, Stream } from './stream.js'

/** What a node begins with. */
export interface Loaded<E> {
  readonly replica: Replica
  readonly engine: E
  /** Where the stream ends. */
  readonly end: number
}

/** An engine that takes a state back, and has what nodes share beside it. */
export type MakeEngine<E> = (replica: Replica) => E & { readonly taker: StateTaker }

/**
 * The newest snapshot that is good, and nothing where the stream has all from its beginning. Fails with `damaged` or `format`
 * when none is good and the stream has been trimmed, or when the stream is not the one of the snapshot.
 */
export function loadNewest<E>(
  stream: Stream,
  judging: Judging,
  make: MakeEngine<E>,
  progress: () => void,
): Observable<Loaded<E>> {
  const empty = (): { replica: Replica; engine: ReturnType<MakeEngine<E>> } => {
    const replica = new Replica(judging)
    return { replica, engine: make(replica) }
  }
  return stream.snapshots().pipe(
    mergeMap(names => {
      let failure: unknown
      const tries = newestFirst(names).map(name =>
        load(stream, name, empty, progress).pipe(
          catchError(error => {
            failure ??= error
            return EMPTY
          }),
        ),
      )
      const nothing = defer(() => of(empty()))
      return concat(...tries, nothing).pipe(
        take(1),
        mergeMap(loaded => checkBounds(stream, loaded, failure)),
      )
    }),
  )
}

const newestFirst = (names: readonly SnapshotName[]): string[] =>
  names
    .map(({ name }) => name)
    .filter(name => positionOf(name) !== undefined)
    .sort()
    .reverse()

function load<E>(
  stream: Stream,
  name: string,
  empty: () => { readonly replica: Replica; readonly engine: ReturnType<MakeEngine<E>> },
  progress: () => void,
): Observable<Omit<Loaded<E>, 'end'>> {
  return defer(() => {
    const { replica, engine } = empty()
    const reader = new SnapshotReader(bytes => replica.decode(bytes), engine.taker)
    return stream.getSnapshot(name).pipe(
      tap(bytes => {
        reader.take(bytes)
        progress()
      }),
      last(undefined, undefined),
      map(() => {
        reader.end()
        return { replica, engine }
      }),
    )
  })
}

function checkBounds<E>(stream: Stream, loaded: Omit<Loaded<E>, 'end'>, failure: unknown): Observable<Loaded<E>> {
  const { position } = loaded.replica
  return stream.bounds().pipe(
    take(1),
    map(({ first, last: end }) => {
      if (position > end)
        throw damaged(
          `the stream ends at position ${end}, and a snapshot is of position ${position}: the stream has lost what it had ` +
            'acknowledged, or is another one',
          { cause: failure },
        )
      if (position + 1 >= first || (end === 0 && position === 0)) return { ...loaded, end }
      if (failure !== undefined) throw failure
      throw damaged(
        `the stream begins at position ${first}, and no snapshot is of position ${first - 1} or later: what came before ` +
          'is not there any more',
      )
    }),
  )
}
