// run.test.js: what a command is, what comes back, and the server behind.
'use strict'
const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')
const crypto = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const abatis = require('abatis')
const { alive, eventually, fact, isAlive, lasting, serverPid, unique } = require('./common.js')

const { run } = abatis
const NODE = process.execPath

// ---- results ----

fact('a command runs and it is said how it ended', async () => {
  const result = await run(['sh', '-c', 'echo out; echo err >&2; exit 3'])
  assert.deepEqual([result.stdout, result.stderr, result.exitCode, result.signal, result.ok], ['out\n', 'err\n', 3, null, false])
  assert.deepEqual([result.argv[0], result.timedOut, result.cancelled, result.truncated], ['sh', false, false, false])
  assert.ok(result.enforced.length && result.backend && !result.notEnforced.length && result.durationMs > 0)
  assert.ok((await run(['true'])).ok)
})

fact('a signal is told from an exit code', async () => {
  const result = await run(['sh', '-c', 'kill -9 $$'])
  assert.deepEqual([result.exitCode, result.signal], [null, 'SIGKILL'])
})

fact('bytes come as they are', async () => {
  const result = await run(['printf', '\\377\\000\\303\\244'])
  assert.deepEqual([...result.stdoutRaw], [0xff, 0, 0xc3, 0xa4])
  assert.equal(result.stdout, '\ufffd\0ä')
  assert.equal((await run(['printf', 'ä'])).stdoutRaw.length, 2)
})

fact('a timeout is a result and check is for those that must succeed', async () => {
  const result = await run(['sleep', '600'], { timeout: 100 })
  assert.deepEqual([result.timedOut, result.limit], [true, 'limits.timeout'])
  assert.ok((await run(['true'], { check: true })).ok)
  await assert.rejects(run(['false'], { check: true }), { name: 'CommandFailed', message: /'false' exited with 1/ })
})

// ---- arguments ----

fact('what is read is what was given', async () => {
  for (const input of ['text ä\n', 'with \0 in it', Buffer.from([255, 0, 254]), new Uint8Array([1, 2, 3]).subarray(1), new Uint8Array([9]).buffer, '']) {
    const raw = Buffer.from(input)
    assert.deepEqual((await run(['cat'], { input })).stdoutRaw, raw)
  }
  assert.equal((await run(['cat'])).stdout, '')
})

fact('megabytes go in and out', async () => {
  const input = crypto.randomBytes(4 << 20)
  assert.ok((await run(['cat'], { input, limits: { output: 8 << 20 } })).stdoutRaw.equals(input))
})

fact('the directory and the environment are those of now', async (workspace) => {
  fs.mkdirSync('sub')
  assert.equal((await run(['pwd'])).stdout, `${workspace}\n`)
  process.chdir('sub')
  assert.equal((await run(['pwd'])).stdout, `${workspace}/sub\n`)
  assert.equal((await run(['pwd'], { cwd: '..' })).stdout, `${workspace}\n`)
  const command = ['sh', '-c', 'echo $ABATIS_TEST']
  assert.equal((await run(command)).stdout, '\n')
  process.env.ABATIS_TEST = 'now'
  assert.equal((await run(command)).stdout, 'now\n')
  delete process.env.ABATIS_TEST
  assert.equal((await run(command)).stdout, '\n')
  assert.equal((await run(command, { env: { ABATIS_TEST: 'said', PATH: process.env.PATH, NONE: undefined } })).stdout, 'said\n')
})

fact('what cannot be said is refused', async () => {
  for (const [command, options] of [['ls', {}], [[], {}], [['ls', 1], {}], [['ls', '\ud800'], {}], [['ls'], { timeout: -1 }], [['ls'], { timeout: NaN }],
    [['ls'], { timeout: 1, limits: { timeout: '2s' } }], [['ls'], { nonesuch: 1 }], [['ls'], { shell: true }]]) {
    await assert.rejects(run(command, options), (problem) => problem instanceof TypeError || problem instanceof RangeError)
  }
  assert.equal((await run(['echo', '\\ud800', '😀'])).stdout, '\\ud800 😀\n')
})

// ---- policies ----

fact('a policy is an object or a file or settings', async (workspace) => {
  const secret = path.join(workspace, 'secret')
  fs.writeFileSync('secret', 'secret')
  fs.writeFileSync('policy.yaml', `version: 1\nextends: dev\nfilesystem:\n  deny: ["${secret}"]\n`)
  const reads = async (options) => (await run(['cat', 'secret'], options)).stdout === 'secret'
  assert.ok(await reads({}))
  assert.ok(await reads({ policy: { version: 1 } }))
  assert.ok(!(await reads({ policy: { version: 1, filesystem: { deny: [secret] } } })))
  assert.ok(!(await reads({ policy: 'policy.yaml' })))
  assert.ok(!(await reads({ policy: pathToFileURL('policy.yaml') })))
  assert.ok(!(await reads({ set: { 'filesystem.deny': [secret] } })))
  assert.ok(!(await abatis.check('read', 'secret', { set: { 'filesystem.deny': [secret] } })).allowed)
  assert.ok((await abatis.check('read', 'secret')).allowed)
})

fact('a policy that is wrong is refused by name', async () => {
  for (const [options, words] of [[{ policy: { version: 1, filesystme: {} } }, /filesystme/], [{ preset: 'nonesuch' }, /nonesuch/],
    [{ policy: 'nonesuch.yaml' }, /nonesuch.yaml/], [{ set: { 'filesystem.dney': ['/x'] } }, /dney/]]) {
    await assert.rejects(run(['touch', 'ran'], options), { name: 'RequestError', message: words })
  }
  assert.ok(!fs.existsSync('ran'))
})

fact('explain and probe answer and sessions keep their files', async () => {
  assert.ok((await abatis.explain({ preset: 'tool' })).clauses.length)
  assert.ok((await abatis.explain({ tier: 'untrusted' })).clauses.length)
  assert.equal((await abatis.probe()).protocol, 1)
  assert.ok((await run(['touch', '/tmp/mine'], { session: 'a' })).ok)
  assert.ok((await run(['ls', '/tmp/mine'], { session: 'a' })).ok)
  assert.ok(!(await run(['ls', '/tmp/mine'])).ok)
  assert.ok(await abatis.endSession('a'))
  assert.ok(!(await abatis.endSession('a')))
})

// ---- errors ----

fact('a command that is not there is an error with a code', async () => {
  await assert.rejects(run(['nonesuch']), { name: 'RequestError', code: 'ABATIS_E_NOT_FOUND', message: /nonesuch/ })
  await assert.rejects(run(['/etc/passwd']), { code: 'ABATIS_E_NOT_EXECUTABLE' })
  await assert.rejects(run(['cat'], { input: Buffer.alloc(7 << 20) }), { code: 'PROTOCOL_LENGTH' })
  assert.ok((await run(['true'])).ok)
})

fact('the program is found where it is said to be', async (workspace) => {
  const before = { ...process.env }
  fs.mkdirSync('bin')
  fs.copyFileSync(before.ABATIS, 'bin/abatis') // a link that the command could replace is refused
  try {
    assert.equal((await run(['echo', '1'], { abatis: before.ABATIS })).stdout, '1\n')
    delete process.env.ABATIS
    process.env.PATH = `${workspace}/bin:${before.PATH}`
    assert.equal((await run(['echo', '2'])).stdout, '2\n')
    process.env.PATH = '/nonesuch'
    await assert.rejects(run(['/bin/true']), { name: 'ServerError', message: /no 'abatis' in PATH.*ABATIS/ })
    process.env.ABATIS = '/nonesuch/abatis'
    await assert.rejects(run(['/bin/true']), { message: /variable ABATIS says '\/nonesuch\/abatis'/ })
    await assert.rejects(run(['/bin/true'], { abatis: '/nonesuch/other' }), { message: /option abatis says '\/nonesuch\/other'/ })
  } finally {
    Object.assign(process.env, before)
    await abatis.close() // the one in this test's directory
  }
})

fact('a program that is another is an error', async () => {
  fs.writeFileSync('complains', "#!/bin/sh\necho 'no such verb' >&2\nexit 2\n", { mode: 0o700 })
  for (const [program, words] of [['/bin/false', /exit code 1/], ['/bin/true', /has ended/], ['/bin/cat', /has ended.*serve/s], ['/bin/yes', /no sense/],
    ['./complains', /exit code 2.*no such verb/s]]) {
    await assert.rejects(run(['true'], { abatis: program }), { name: 'ServerError', message: words })
  }
  await abatis.close()
})

// ---- many, and aborted ones ----

fact('sixty four run at once in one server', async () => {
  const pid = await serverPid()
  const script = 'touch here-$0; until [ $(ls | grep -c here-) -ge 64 ]; do sleep 0.1; done; echo $0'
  const results = await Promise.all(Array.from({ length: 64 }, (_, number) => run(['sh', '-c', script, String(number)])))
  assert.ok(results.every((result, number) => result.stdout === `${number}\n`))
  assert.equal(await serverPid(), pid)
})

fact('more may wait than the server takes', async () => {
  const results = await Promise.all(Array.from({ length: 1200 }, (_, number) => run(['echo', String(number)])))
  assert.ok(results.every((result, number) => result.stdout === `${number}\n`))
})

fact('what is aborted has ended when that is told', async () => {
  const word = unique()
  const controller = new AbortController()
  const aborted = run(lasting(word), { signal: controller.signal })
  await eventually(() => alive(word).length)
  controller.abort()
  await assert.rejects(aborted, { name: 'AbortError' })
  assert.deepEqual(alive(word), [])
  await assert.rejects(run(['touch', 'ran'], { signal: controller.signal }), { name: 'AbortError' })
  assert.ok(!fs.existsSync('ran'))
  await assert.rejects(run(lasting(word), { signal: AbortSignal.timeout(200) }), { name: 'TimeoutError' })
  assert.deepEqual(alive(word), [])
  assert.ok((await run(['true'], { signal: new AbortController().signal })).ok)
})

fact('one that was not sent yet is aborted too', async () => {
  const controller = new AbortController()
  const calls = Array.from({ length: 600 }, (_, number) =>
    run(['sh', '-c', 'until [ -e go ]; do sleep 0.1; done'], number < 64 ? {} : { signal: controller.signal }))
  controller.abort()
  const aborted = await Promise.allSettled(calls.slice(64))
  assert.ok(aborted.every((end) => end.reason?.name === 'AbortError'))
  fs.writeFileSync('go', '')
  assert.ok((await Promise.all(calls.slice(0, 64))).every((result) => result.ok))
})

// ---- death, and the end ----

fact('a server that was killed idle is replaced', async () => {
  const pid = await serverPid()
  process.kill(pid, 'SIGKILL')
  while (isAlive(pid)); // this process has not heard of it yet
  assert.ok((await run(['true'])).ok)
  assert.notEqual(await serverPid(), pid)
})

fact('calls in flight get an error and nothing stays', async () => {
  const [pid, word] = [await serverPid(), unique()]
  const calls = [1, 2, 3].map(() => run(lasting(word)))
  const ends = Promise.allSettled(calls)
  await eventually(() => alive(word).length >= 3)
  process.kill(pid, 'SIGKILL')
  for (const { reason } of await ends) assert.match(`${reason}`, /ServerError: .*has ended \(SIGKILL\)/)
  await eventually(() => !alive(word).length)
  assert.ok((await run(['true'])).ok)
})

fact('close ends it and what runs', async () => {
  const [pid, word] = [await serverPid(), unique()]
  const call = Promise.allSettled([run(lasting(word))])
  await eventually(() => alive(word).length)
  await abatis.close()
  await call
  assert.ok(!isAlive(pid))
  await eventually(() => !alive(word).length)
  assert.ok((await run(['true'])).ok)
})

fact('an idle server keeps no program from its end', async () => {
  const script = `const { run } = require(${JSON.stringify(require.resolve('abatis'))}); run(['echo', 'said']).then((result) => console.log(result.stdout))`
  const child = spawnSync(NODE, ['-e', script], { encoding: 'utf8', timeout: 30_000 })
  assert.deepEqual([child.status, child.stdout, child.stderr], [0, 'said\n\n', ''])
})

fact('what runs ends with the program', async () => {
  for (const end of ['process.exit(0)', "process.kill(process.pid, 'SIGKILL')"]) {
    const word = unique()
    const script = `const { run } = require(${JSON.stringify(require.resolve('abatis'))})
      run(['sh', '-c', 'touch started; sleep 600 & wait', '${word}'])
      setInterval(() => require('node:fs').existsSync('started') && ${end}, 10)`
    spawnSync(NODE, ['-e', script], { timeout: 30_000 })
    assert.ok(fs.existsSync('started'))
    fs.rmSync('started')
    await eventually(() => !alive(word).length)
  }
})

fact('import has what require has', async () => {
  const imported = await import('abatis')
  assert.deepEqual(Object.keys(imported).sort(), [...Object.keys(abatis), 'default'].sort())
  assert.equal(imported.run, abatis.run)
  assert.equal(imported.default, abatis)
})
