import { describe, expect, it } from 'vitest'
import { execute, jsonOf } from '../../cli/test-io.js'
import { Mosquitto } from '../../support/mosquitto.js'
import { openAttached } from '../../support/open-attached.js'

describe('probe at Mosquitto', () => {
  it('probe passes at an attached store', async () => {
    const { url } = await Mosquitto.launch()
    await openAttached(url)
    const { code, stdout } = await execute(['probe', url, '--timeout', '20s'])
    expect([code, stdout]).toEqual([0, expect.stringContaining(`OK: ${url} passed all steps`)])
  })

  it('probe exits with code 2 when the broker works and no store answers', async () => {
    const { url } = await Mosquitto.launch()
    const { code, stdout } = await execute(['probe', url, '--json', '--timeout', '20s'])
    expect(code).toBe(2)
    expect(jsonOf(stdout)).toMatchObject({ failedStep: 'set', steps: [{ step: 'connect' }, { step: 'message' }] })
  })

  it('probe names the right that an access control list lacks', async () => {
    const { url } = await Mosquitto.launch({ acl: ['topic readwrite other/#'] })
    const { code, stdout } = await execute(['probe', url, '--timeout', '20s'])
    expect(code).toBe(2)
    expect(stdout).toContain('the policy must permit Publish and Subscribe for the topics rx-statestore/probe/+')
  })
})
