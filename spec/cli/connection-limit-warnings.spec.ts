import { Subject, VirtualTimeScheduler } from 'rxjs'
import { expect, it } from 'vitest'
import { connectionLimitWarnings } from '../../src/cli/reports.js'
import type { AuditEvent } from '../../src/server/index.js'

it('a warning at most every ten seconds counts closed connections and names the worst client', () => {
  const [events$, scheduler, lines] = [new Subject<AuditEvent>(), new VirtualTimeScheduler(), [] as string[]]
  connectionLimitWarnings(events$, scheduler).subscribe(line => lines.push(line))
  const event = {
    time: '2026-01-02T12:15:16.017Z',
    event: 'cut',
    listener: 'mqtt',
    reason: 'a packet took too long',
  } as const
  events$.next({ ...event, address: '192.0.2.1', count: 1 })
  events$.next({ ...event, address: '192.0.2.2', clientId: 'panel', count: 999 })
  events$.next({ time: event.time, event: 'login', outcome: 'refused' })
  events$.complete()
  scheduler.flush()
  expect(lines).toEqual([
    'warning: 1000 connections were closed for exceeding a limit, most of "panel" at 192.0.2.2 (mqtt): a packet took too long',
  ])
})
