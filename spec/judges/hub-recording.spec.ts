import { describe, expect, it } from 'vitest'
import { HubJudge, type HubRecord } from '../../harness/judges/hub-recording.js'
import { Violations } from '../../harness/judges/violations.js'

const GROUP = 3
const MEMBERSHIP = 1

/** Records of one hub and its members, at a time that increases with each record. */
class Recording {
  readonly #records: HubRecord[] = []
  #run = 1
  #time = 0

  send(id: number, { outcome = 'acked' } = {}): this {
    this.#records.push({ type: 'sent', id, author: 1, group: GROUP, at: this.#time++ })
    this.#records.push({ type: 'ended', id, outcome, at: this.#time++ })
    return this
  }

  sendEvent(id: number): this {
    this.#records.push({ type: 'sent', id, author: 1, at: this.#time++ })
    this.#records.push({ type: 'ended', id, outcome: 'acked', at: this.#time++ })
    return this
  }

  publish(...ids: number[]): this {
    for (const id of ids) this.#records.push({ type: 'published', id, run: this.#run, group: GROUP })
    return this
  }

  endHub(): this {
    this.#records.push({ type: 'hub ended', at: this.#time++ })
    this.#run++
    return this
  }

  join(id = MEMBERSHIP, previous?: number): this {
    this.#records.push({
      type: 'membership',
      id,
      previous,
      client: 'c',
      session: `s${id}`,
      run: this.#run,
      group: GROUP,
    })
    this.#records.push({ type: 'joined', membership: id, at: this.#time++ })
    return this
  }

  receive(...ids: number[]): this {
    for (const id of ids) this.#records.push({ type: 'received', membership: MEMBERSHIP, id })
    return this
  }

  add(record: HubRecord): this {
    this.#records.push(record)
    return this
  }

  judge(): { violations: string; unseen: number } {
    const violations = new Violations()
    const judge = new HubJudge(violations)
    for (const record of this.#records) judge.add(record)
    judge.judge()
    return { violations: violations.lines.join('\n'), unseen: judge.unseen }
  }
}

const recording = () => new Recording()
const published = () => recording().join().send(1).send(2).send(3).publish(1, 2, 3)
const complete: HubRecord = { type: 'complete', membership: MEMBERSHIP }

describe('the judge of a hub and its senders', () => {
  it('a message that the hub acknowledged and no member received is reported as lost', () => {
    expect(recording().send(1).publish(1).send(2).judge().violations).toMatch(/wrong outcome: message 2, acked/)
  })

  it('a message acknowledged just before the hub ended counts as possibly missed', () => {
    const end = recording().send(1).publish(1).send(2).endHub().send(3).publish(3)
    expect(end.judge()).toEqual({ violations: '', unseen: 1 })
  })

  it('a message that was in flight when the hub ended counts as possibly missed by the witness', () => {
    const sent = recording().add({ type: 'sent', id: 1, author: 1, group: GROUP, at: -2 })
    sent.add({ type: 'hub ended', at: -1 }).add({ type: 'ended', id: 1, outcome: 'acked', at: 0 })
    expect(sent.judge()).toEqual({ violations: '', unseen: 1 })
  })

  it('a message is lost if the witness received a later one in the same run of the hub', () => {
    expect(recording().send(1).send(2).publish(2).endHub().judge()).toMatchObject({
      violations: expect.stringMatching(/wrong outcome: message 1/),
      unseen: 0,
    })
  })

  it('a message that the hub acknowledged after its last end is reported as lost', () => {
    expect(recording().endHub().send(1).judge().violations).toMatch(/wrong outcome/)
  })

  it('an event, which the hub receives itself, counts as lost even just before its end', () => {
    expect(recording().sendEvent(1).endHub().judge().violations).toMatch(/wrong outcome: event 1/)
  })

  it('a published message whose sender received a timeout is reported', () => {
    expect(recording().send(1, { outcome: 'timeout' }).publish(1).judge().violations).toMatch(/wrong outcome/)
  })

  it('messages of a sender that are published in another order are reported', () => {
    expect(recording().send(1).send(2).publish(2, 1).judge().violations).toMatch(/order of a sender: 1/)
  })
})

describe('the judge of a member', () => {
  it('a member that receives every message passes', () => {
    expect(published().receive(1, 2, 3).add(complete).judge().violations).toBe('')
  })

  it.each([
    ['first', [2, 3], /missed 1 messages/],
    ['second', [1, 3], /missed 1 messages/],
    ['last', [1, 2], /missed 1 messages/],
  ])('a member that misses the %s message is reported', (_, ids, violation) => {
    expect(
      published()
        .receive(...ids)
        .add(complete)
        .judge().violations,
    ).toMatch(violation)
  })

  it('a member that left may miss the last message', () => {
    expect(published().receive(1, 2).judge().violations).toBe('')
  })

  it('a member that receives a message twice or in another order is reported', () => {
    expect(published().receive(1, 2, 2, 3).judge().violations).toMatch(/received 1 after 1/)
    expect(published().receive(1, 3, 2).judge().violations).toMatch(/received 1 after 2/)
  })

  it('a member that receives a message that no witness saw is reported', () => {
    expect(recording().join().send(1).receive(1).judge().violations).toMatch(/not seen by the witness/)
  })

  it('the loss of a session with messages must be reported as a gap', () => {
    const lost = () => published().receive(1, 2, 3).join(2, MEMBERSHIP)
    const lasted: HubRecord = { type: 'complete', membership: 2 }
    expect(lost().add(lasted).judge().violations).toMatch(/unreported loss/)
    expect(lost().add({ type: 'gap', membership: 2 }).add(lasted).judge().violations).toBe('')
  })
})
