import { describe, expect, it } from 'vitest'
import { attackHub } from './support/hub-frames.js'
import { openHubScene, prepareHubScenes } from './support/hub-scene.js'

prepareHubScenes()

interface Claim {
  readonly connectionId: string
  readonly token: string
}

/** Returns the claim in the first frame of a session. */
function claimOf(text: string): Claim {
  const [, connectionId = ''] = /"connectionId":"([^"]+)"/.exec(text) ?? []
  const [, token = ''] = /"reconnectionToken":"([^"]+)"/.exec(text) ?? []
  return { connectionId, token }
}

describe('recovery claims of an attacker', () => {
  it('recovery claims are audited, and invalid claims delay neither a valid claim nor a member', async () => {
    const scene = await openHubScene()
    await scene.runAttack(async () => {
      const victim = await scene.connect({ user: 'victim' })
      let text = String(victim.last)
      victim.socket.on('data', data => {
        text += String(data)
      })
      await expect.poll(() => claimOf(text).token).not.toBe('')
      const claim = claimOf(text)
      const statuses: string[] = []
      for (let n = 0; n < 150; n++) {
        const guess = await attackHub(scene.port, { claim: { ...claim, token: `${'x'.repeat(42)}${n % 10}` } })
        statuses.push(String(guess.last).slice(9, 12))
        guess.hangUp()
      }
      expect(statuses.filter(status => status === '101').length).toBeGreaterThanOrEqual(100)
      victim.hangUp()
      const back = await scene.connect({ claim })
      expect(String(back.last)).toMatch(/^HTTP\/1.1 101/)
      const thief = await scene.connect({ claim, address: '203.0.113.9' })
      expect(String(thief.last)).toMatch(/^HTTP\/1.1 101/)
    })
    const audit = await scene.audit()
    expect(audit.filter(line => line === 'login refused recovery with a wrong token')).toHaveLength(150)
    expect(audit.filter(line => line.startsWith('login accepted recovery'))).toEqual([
      expect.stringMatching(/^login accepted recovery( while it was connected)?$/),
      expect.stringMatching(/^login accepted recovery from a different address than 192\.0\.2\.1/),
    ])
  })
})
