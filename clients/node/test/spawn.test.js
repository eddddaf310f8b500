// spawn.test.js: a real child in the sandbox.
'use strict'
const assert = require('node:assert/strict')
const { ChildProcess, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { spawn } = require('abatis')
const { alive, eventually, fact, lasting, unique } = require('./common.js')

async function output(child) {
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (piece) => (text += piece))
  const [code, signal] = await once(child, 'close')
  return { text, code, signal, result: await child.result }
}

fact('a child talks while it runs', async () => {
  const child = spawn('sh', ['-c', 'while read line; do echo "got $line"; done; exit 3'])
  assert.ok(child instanceof ChildProcess)
  child.stdout.setEncoding('utf8')
  child.stdin.write('one\n')
  assert.equal((await once(child.stdout, 'data'))[0], 'got one\n')
  child.stdin.write('two\n')
  assert.equal((await once(child.stdout, 'data'))[0], 'got two\n')
  child.stdin.end()
  assert.deepEqual(await once(child, 'close'), [3, null])
  const result = await child.result
  assert.deepEqual([result.exitCode, result.signal, result.ok], [3, null, false])
})

fact('the result tells a signal from an exit code', async () => {
  const { code, result } = await output(spawn('sh', ['-c', 'kill -9 $$']))
  assert.deepEqual([code, result.exitCode, result.signal], [137, null, 'SIGKILL'])
})

fact('policies are those of run', async (workspace) => {
  const secret = path.join(workspace, 'secret')
  fs.writeFileSync('secret', 'secret')
  fs.writeFileSync('policy.yaml', `version: 1\nextends: dev\nfilesystem:\n  deny: ["${secret}"]\n`)
  const reads = async (options) => (await output(spawn('cat', ['secret'], { stdio: ['ignore', 'pipe', 'ignore'], ...options }))).text === 'secret'
  assert.ok(await reads({}))
  assert.ok(await reads({ policy: { version: 1 } }))
  assert.ok(!(await reads({ policy: { version: 1, filesystem: { deny: [secret] } } })))
  assert.ok(!(await reads({ policy: 'policy.yaml' })))
  assert.ok(!(await reads({ set: { 'filesystem.deny': [secret] } })))
  assert.equal((await output(spawn('ulimit -n', { shell: true, limits: { open_files: 64 } }))).text, '64\n')
  const { result } = await output(spawn('sleep', ['600'], { timeout: 100 }))
  assert.deepEqual([result.timedOut, result.limit], [true, 'limits.timeout'])
})

fact('a policy in an object leaves no file', async () => {
  const folder = path.resolve('tmp')
  fs.mkdirSync(folder)
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  try {
    await output(spawn('true', { policy: { version: 1 } }))
  } finally {
    process.env.TMPDIR = before
  }
  assert.deepEqual(fs.readdirSync(folder), [])
})

fact('a child may have a terminal', async () => {
  assert.equal((await output(spawn('tty', { stdio: ['ignore', 'pipe', 'ignore'] }))).code, 1)
  assert.equal((await output(spawn('tty', { pty: true, stdio: ['ignore', 'pipe', 'ignore'] }))).code, 0)
})

fact('signals, the directory and the environment are as for any child', async (workspace) => {
  fs.mkdirSync('sub')
  assert.equal((await output(spawn('pwd', { cwd: 'sub' }))).text, `${workspace}/sub\n`)
  assert.equal((await output(spawn('echo $A', { shell: true, env: { ...process.env, A: 'b' } }))).text, 'b\n')
  const word = unique()
  const child = spawn(...words(lasting(word)))
  await eventually(() => alive(word).length > 1)
  child.kill('SIGKILL')
  await once(child, 'close')
  await eventually(() => !alive(word).length)
  await assert.rejects(child.result, { name: 'ServerError', message: /SIGKILL/ })
})

fact('a child is aborted', async () => {
  const word = unique()
  const controller = new AbortController()
  const child = spawn(...words(lasting(word)), { signal: controller.signal })
  const problem = once(child, 'error')
  await eventually(() => alive(word).length > 1)
  controller.abort()
  assert.equal((await problem)[0].name, 'AbortError')
  await eventually(() => !alive(word).length)
})

fact('what cannot be had is refused', async () => {
  for (const options of [{ uid: 0 }, { stdio: ['pipe', 'pipe', 'pipe', 'pipe'] }, { stdio: ['pipe', 'ipc'] }, { env: { PATH: process.env.PATH } }, { argv0: 'x' },
    { set: { 'filesystem.dney': ['/x'] } }, { session: 'a' }]) {
    assert.throws(() => spawn('touch', ['ran'], options), TypeError)
  }
  assert.ok(!fs.existsSync('ran'))
  assert.equal((await output(spawn('touch', ['ran'], { stdio: ['ignore', 'pipe', 'inherit'] }))).code, 0)
  assert.ok(fs.existsSync('ran'))
})

fact('what never ran has no result', async () => {
  const child = spawn('nonesuch', { stdio: 'ignore' })
  assert.deepEqual(await once(child, 'close'), [127, null])
  await assert.rejects(child.result, { name: 'ServerError', message: /exit code 127/ })
  assert.throws(() => spawn('true', { abatis: '/nonesuch/abatis' }), { name: 'ServerError' })
})

fact('every flag is one of the program', async () => {
  const help = spawnSync(process.env.ABATIS, ['run', '--help'], { encoding: 'utf8' }).stdout
  const source = fs.readFileSync(path.join(path.dirname(require.resolve('abatis')), 'lib/spawn.js'), 'utf8')
  const flags = [...source.matchAll(/'(--[a-z-]+)'/g)].map(([, flag]) => flag).filter((flag) => flag !== '--')
  assert.ok(flags.length > 25)
  for (const flag of flags) assert.match(help, new RegExp(`${flag}\\b`))
})

function words([program, ...args]) {
  return [program, args]
}
