import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Authority } from '../../harness/certificates.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { execute, jsonOf, start } from './test-io.js'

const ANY_PORT = ['--port', '0', '--ws-port', '0']
const POLICY = `
- principals: { usernames: [panel] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: ReadWrite, keyType: Pattern, keys: ["line-1/*"] }]
- principals: { usernames: [reader] }
  brokerResources: [{ method: Connect }]
  stateStoreResources: [{ method: Read, keyType: Pattern, keys: ["line-1/*"] }]`

function written(name: string, content: string): string {
  const file = join(temporaryFolder(), name)
  writeFileSync(file, content)
  return file
}

async function users(...names: string[]): Promise<string> {
  const file = join(temporaryFolder(), 'users')
  for (const name of names)
    expect(await execute(['passwd', file, name], { stdin: `${name}!\n` })).toMatchObject({ code: 0 })
  return file
}

const as = (name: string): string[] => ['--username', name, '--password', `${name}!`]

async function serving(...flags: string[]) {
  const running = start(['serve', ...ANY_PORT, ...flags])
  const [url = ''] = /mqtts?:\S+/.exec(await running.stdout.line(/^listening/)) ?? []
  const run = async (...args: string[]) => execute([...args, '--url', url, '--timeout', '15000'])
  return { ...running, url, run }
}

describe('passwd', () => {
  it('creates a file that only its owner can read and that contains no passwords', async () => {
    const file = await users('alice', 'bob')
    const text = readFileSync(file, 'utf8')
    expect(text).toMatch(/^alice:\$scrypt\$.*\nbob:\$scrypt\$.*\n$/)
    expect(text).not.toContain('!')
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('replaces a file or link that has the name of its temporary file', async () => {
    const file = await users('alice')
    const other = join(temporaryFolder(), 'other')
    writeFileSync(other, 'as it was', { mode: 0o644 })
    symlinkSync(other, `${file}.new`)
    expect(await execute(['passwd', file, 'bob'], { stdin: 'x' })).toMatchObject({ code: 0 })
    expect(readFileSync(other, 'utf8')).toBe('as it was')
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('changes a password, sets attributes, and removes a user', async () => {
    const file = await users('alice', 'bob')
    const before = readFileSync(file, 'utf8')
    await execute(['passwd', file, 'alice', '--attribute', 'building=17', '--attribute', 'a=b=c'], { stdin: 'x' })
    expect(readFileSync(file, 'utf8')).toMatch(/^alice:\$scrypt\$[^:]*:building=17&a=b%3Dc\nbob/)
    expect(await execute(['passwd', file, 'alice', '--delete'])).toMatchObject({ code: 0 })
    expect(readFileSync(file, 'utf8')).toBe(before.split('\n').slice(1).join('\n'))
    expect(await execute(['passwd', file, 'alice', '--delete'])).toMatchObject({ code: 3 })
  })

  it.each([
    ['an empty password', ['alice'], '\n', 2],
    ['a name with a colon', ['a:b'], 'x', 2],
    ['an attribute without a value', ['alice', '--attribute', 'building'], 'x', 2],
  ])('rejects %s', async (_, args, stdin, code) => {
    const file = join(temporaryFolder(), 'users')
    expect(await execute(['passwd', file, ...args], { stdin })).toMatchObject({ code, stdout: '' })
    expect(() => statSync(file)).toThrow()
  })

  it('does not change an invalid file', async () => {
    const file = written('users', 'alice:secret\n')
    expect(await execute(['passwd', file, 'bob'], { stdin: 'x' })).toMatchObject({ code: 1 })
    expect(readFileSync(file, 'utf8')).toBe('alice:secret\n')
  })
})

describe('policy check', () => {
  it.each([
    [['--as', 'panel', '--can', 'Write', '--key', 'line-1/a'], 0, 'allowed by rules[0].stateStoreResources[0]\n'],
    [['--as', 'reader', '--can', 'Connect'], 0, 'allowed by rules[1].brokerResources[0]\n'],
    [
      ['--as', 'reader', '--can', 'Write', '--key', 'line-1/a'],
      3,
      'denied: rules[1] does not grant it, and no other rule applies to this client\n',
    ],
    [['--as', 'eve', '--can', 'Read', '--key', 'line-1/a'], 3, 'denied: no rule applies to this client\n'],
    [
      ['--as', 'panel', '--client-id', 'p', '--can', 'Subscribe', '--topic', '#'],
      3,
      'denied: rules[0] does not grant it, and no other rule applies to this client\n',
    ],
    [[], 0, '2 rules\n'],
    [
      ['--as', 'panel', '--can', 'Read', '--key', 'line-1/a', '--json'],
      0,
      '{"allowed":true,"source":"rules[0].stateStoreResources[0]","rules":[0]}\n',
    ],
  ])('prints the decision for %j', async (args, code, stdout) => {
    expect(await execute(['policy', 'check', written('policy', POLICY), ...args])).toMatchObject({
      code,
      stdout,
      stderr: '',
    })
  })

  it.each([
    ['a policy that cannot be read', 'a: 1', [], /^rx-statestore: .*policy: line 1: Expected only/],
    ['no key', POLICY, ['--can', 'Read'], /--can Read requires --key/],
    ['no topic', POLICY, ['--can', 'Publish'], /--can Publish requires --topic/],
    ['an unknown action', POLICY, ['--can', 'Eat'], /Allowed choices are Connect, Publish/],
  ])('exits with code 2 for %s', async (_, text, args, words) => {
    const { code, stderr } = await execute(['policy', 'check', written('policy', text), ...args])
    expect(code).toBe(2)
    expect(stderr).toMatch(words)
  })
})

describe('serve', () => {
  it('authenticates clients by passwords, and enforces the policy', async () => {
    const { run } = await serving(
      '--password-file',
      await users('panel', 'reader'),
      '--policy',
      written('policy', POLICY),
    )
    expect(await run('set', 'line-1/a', '7', ...as('panel'))).toMatchObject({ code: 0 })
    expect(await run('get', 'line-1/a', ...as('reader'))).toMatchObject({ code: 0, stdout: '7' })
    expect(await run('keys', ...as('reader'))).toMatchObject({ code: 0, stdout: 'line-1/a\n' })
    expect(await run('set', 'line-1/a', '8', ...as('reader'))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/not authorized/),
    })
    expect(await run('get', 'other', ...as('panel'))).toMatchObject({ code: 1 })
    expect(await run('get', 'line-1/a')).toMatchObject({ code: 1 })
    expect(await run('get', 'line-1/a', '--username', 'panel', '--password', 'x')).toMatchObject({ code: 1 })
  })

  it.each(['SIGHUP', 'a change of the file'])('reloads its files on %s', async how => {
    const [passwords, policy] = [await users('panel'), written('policy', POLICY)]
    const { run, stderr, interrupt } = await serving('--password-file', passwords, '--policy', policy)
    expect(await run('get', 'line-2/a', ...as('panel'))).toMatchObject({ code: 1 })
    writeFileSync(policy, POLICY.replace('line-1', 'line-2'))
    await execute(['passwd', passwords, 'panel'], { stdin: 'new' })
    if (how === 'SIGHUP') interrupt('SIGHUP')
    else for (const file of [policy, passwords]) utimesSync(file, 1, 1)
    // A file's change may already have caused a reload before the signal causes another one.
    for (const file of [policy, passwords]) await stderr.waitForLine(`reloaded ${file}`)
    expect(await run('get', 'line-2/a', ...as('panel'))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Bad User Name or Password/),
    })
    expect(await run('get', 'line-2/a', '--username', 'panel', '--password', 'new')).toMatchObject({ code: 3 })
  })

  it('keeps the previous content when a file becomes invalid', async () => {
    const policy = written('policy', POLICY)
    const { run, stderr, interrupt } = await serving('--password-file', await users('panel'), '--policy', policy)
    writeFileSync(policy, '[{')
    interrupt('SIGHUP')
    expect(await stderr.line(/policy/)).toMatch(/line \d.*; the previous content stays in effect$/)
    expect(await run('get', 'line-1/a', ...as('panel'))).toMatchObject({ code: 3 })
  })

  it('writes the audit log to a file', async () => {
    const record = join(temporaryFolder(), 'record')
    writeFileSync(record, '', { mode: 0o644 })
    const { run } = await serving('--password-file', await users('panel'), '--audit', record)
    await run('get', 'k', '--client-id', 'c', '--username', 'panel', '--password', 'guess')
    await run('get', 'k', '--client-id', 'c', ...as('panel'))
    const lines = readFileSync(record, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(lines).toMatchObject([
      { event: 'login', outcome: 'refused', username: 'panel' },
      { event: 'login', outcome: 'accepted', username: 'panel' },
    ])
    expect(readFileSync(record, 'utf8')).not.toMatch(/guess|panel!/)
    expect(statSync(record).mode & 0o777).toBe(0o600)
  })

  it('creates the audit log at the start, and again after a rotation', async () => {
    const record = join(temporaryFolder(), 'record')
    const { run } = await serving('--password-file', await users('panel'), '--audit', record)
    expect(statSync(record)).toMatchObject({ size: 0, mode: 0o100600 })
    await run('get', 'k', ...as('panel'))
    renameSync(record, `${record}.1`)
    await run('get', 'k', ...as('panel'))
    for (const file of [`${record}.1`, record])
      expect(jsonOf(readFileSync(file, 'utf8'))).toMatchObject({ event: 'login' })
    expect(statSync(record).mode & 0o777).toBe(0o600)
  })

  it.each([
    ['in a directory that does not exist', () => '/nowhere/record', /cannot write the file of --audit: ENOENT/],
    ['below a file', () => join(written('file', ''), 'record'), /cannot write the file of --audit: ENOTDIR/],
    ['that is a directory', temporaryFolder, /cannot write the file of --audit: .* is a directory/],
  ])('rejects an audit log %s, with --check-config and before the store opens', async (_, pathOf, words) => {
    const data = join(temporaryFolder(), 'data')
    const args = ['serve', ...ANY_PORT, '--data', data, '--audit', pathOf()]
    for (const more of [['--check-config'], []])
      expect(await execute([...args, ...more])).toMatchObject({ code: 2, stderr: expect.stringMatching(words) })
    expect(existsSync(data)).toBe(false)
  })

  it('creates no audit log with --check-config', async () => {
    const record = join(temporaryFolder(), 'record')
    expect(await execute(['serve', ...ANY_PORT, '--audit', record, '--check-config'])).toMatchObject({ code: 0 })
    expect(existsSync(record)).toBe(false)
  })

  it('reports an audit log that can no longer be written as an event of the log', async () => {
    const record = join(temporaryFolder(), 'log', 'record')
    mkdirSync(dirname(record))
    const flags = ['--password-file', await users('panel'), '--audit', record, '--log-format', 'json']
    const { run, stderr } = await serving(...flags)
    rmSync(dirname(record), { recursive: true })
    await run('get', 'k', ...as('panel'))
    expect(jsonOf(await stderr.line(/"audit"/))).toMatchObject({
      level: 50,
      event: 'audit',
      msg: expect.stringMatching(/^cannot write the audit log: ENOENT/),
    })
  })

  it('does not listen on other interfaces without authentication', async () => {
    expect(await execute(['serve', ...ANY_PORT, '--host', '0.0.0.0'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/anonymous clients on 0\.0\.0\.0 would have full access: add --password-file, /),
    })
    const { stderr } = await serving('--host', '0.0.0.0', '--allow-anonymous')
    expect(stderr.text).toMatch(/^warning: anonymous clients on 0\.0\.0\.0 have full access/)
  })

  it('warns that passwords are sent without encryption to other interfaces', async () => {
    const flags = ['--host', '0.0.0.0', '--password-file', await users('panel')]
    const { stderr } = await serving(...flags)
    expect(stderr.text).toMatch(/^warning: clients on 0\.0\.0\.0 send passwords and tokens without encryption: /)
    const authority = new Authority('/CN=Contoso Root CA')
    const { cert, key } = authority.files(authority.issue('/CN=localhost'))
    for (const silent of [[...flags, '--tls-cert', cert, '--tls-key', key], flags.slice(2)])
      expect((await serving(...silent)).stderr.text).toBe('')
  })

  it('warns about an expired certificate at the start, in a check and when files change', async () => {
    const authority = new Authority('/CN=Contoso Root CA')
    const valid = authority.files(authority.issue('/CN=localhost'))
    const expired = authority.issue('/CN=localhost', { days: -1 })
    const { cert, key } = authority.files(expired)
    const warning = /^warning: the TLS certificate expired at \d{4}-\d\d-\d\dT[\d:.]+Z$/m
    const flags = ['--tls-cert', cert, '--tls-key', key]
    expect(await execute(['serve', '--check-config', ...flags])).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(warning),
    })
    expect((await serving(...flags)).stderr.text).toMatch(warning)
    const { stderr, interrupt } = await serving('--tls-cert', valid.cert, '--tls-key', valid.key)
    expect(stderr.text).toBe('')
    writeFileSync(valid.key, expired.key)
    writeFileSync(valid.cert, expired.cert)
    interrupt('SIGHUP')
    await stderr.line(/^warning: the TLS certificate expired at/)
  })

  it.each([
    ['a password file that does not exist', ['--password-file', '/nowhere'], /cannot read \/nowhere: ENOENT/],
    ['a policy that does not exist', ['--policy', '/nowhere'], /cannot read \/nowhere: ENOENT/],
    ['an invalid password file', ['--password-file', written('users', 'x')], /users: line 1/],
    ['an invalid policy', ['--policy', written('policy', 'x: 1')], /line 1: Expected only/],
  ])('exits with code 2 for %s', async (_, flags, words) => {
    expect(await execute(['serve', ...ANY_PORT, ...flags])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(words),
    })
  })
})

describe('The console page', () => {
  it('connects with its token, and has the rights of the user `console`', async () => {
    const policy = written('policy', POLICY.replace('usernames: [reader]', 'usernames: [console]'))
    const { stdout, run } = await serving('--password-file', await users('panel'), '--policy', policy, '--console', '0')
    const [, token = ''] = /#token=(\S+)/.exec(await stdout.line(/^console on/)) ?? []
    await run('set', 'line-1/a', '7', ...as('panel'))
    const asConsole = ['--username', 'console', '--password']
    expect(await run('get', 'line-1/a', ...asConsole, token)).toMatchObject({ code: 0, stdout: '7' })
    expect(await run('set', 'line-1/a', '8', ...asConsole, token)).toMatchObject({ code: 1 })
    expect(await run('get', 'line-1/a', ...asConsole, `${token}x`)).toMatchObject({ code: 1 })
  })
})
