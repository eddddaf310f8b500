// spawn.js: child_process.spawn() in the sandbox: a real child, which is `abatis run`.
'use strict'
const childProcess = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { ServerError } = require('./errors.js')
const { findProgram } = require('./find.js')
const { POLICY_OPTIONS, absolute, limitsOf, pathKeys, refuseUnknown, wordsOf } = require('./request.js')
const { Result } = require('./result.js')

const NODE_OPTIONS = ['cwd', 'env', 'stdio', 'signal', 'killSignal', 'detached', 'windowsHide']
const OPTIONS = [...NODE_OPTIONS, ...POLICY_OPTIONS, 'shell', 'context', 'bestEffort', 'pty', 'abatis']
const FLAGS = {
  'filesystem.read': '--read', 'filesystem.write': '--write', 'filesystem.execute': '--exec', 'filesystem.deny': '--deny',
  'filesystem.deny_glob': '--deny-glob', 'filesystem.protect': '--protect', 'network.mode': '--net', 'network.connect': '--connect',
  'network.bind': '--bind', 'network.unix': '--unix', 'process.commands': '--command', backend: '--backend', 'environment.pass': '--env',
  'limits.timeout': '--timeout', 'limits.output': '--max-output', 'limits.memory': '--memory', 'limits.processes': '--processes',
  'limits.open_files': '--open-files', 'limits.file_size': '--file-size', 'limits.written': '--written', 'limits.cpu': '--cpu',
  'limits.connections': '--connections', 'limits.connections_per_second': '--connections-per-second', 'limits.traffic': '--traffic',
  'audit.log': '--audit-log',
}
// What abatis itself goes by: where the user's policy is, and what of a home is secret.
const OF_ABATIS = ['HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME']
const RESULT_FD = 3
const POLICY_FD = 4

/** As child_process.spawn(), in the sandbox of a policy; `result` of the child is a promise of how the command ended. */
function spawn(program, args, options) {
  if (!Array.isArray(args)) [args, options] = [[], args]
  options ??= {}
  refuseUnknown(options, OPTIONS)
  const words = options.shell ? ['/bin/sh', '-c', [program, ...args].join(' ')] : [program, ...args]
  const flags = ['run', '--result-fd', String(RESULT_FD), ...flagsOf(options)]
  const stdio = [...stdioOf(options.stdio), 'pipe']
  const document = isDocument(options.policy) ? openDocument(options.policy) : undefined
  if (document !== undefined) {
    flags.push('--policy', `/dev/fd/${POLICY_FD}`)
    stdio.push(document)
  }
  try {
    const child = childProcess.spawn(findProgram(options.abatis), [...flags, '--', ...wordsOf(words)], { ...nodeOptionsOf(options), stdio })
    child.result = resultOf(child)
    return child
  } finally {
    if (document !== undefined) fs.closeSync(document)
  }
}

function nodeOptionsOf(options) {
  const { env } = options
  for (const name of env ? OF_ABATIS : []) {
    if (env[name] !== process.env[name]) {
      throw new TypeError(`env must have this process's ${name}: abatis itself is started with it, and finds its policy by it; run() takes any`)
    }
  }
  return Object.fromEntries(NODE_OPTIONS.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]))
}

function stdioOf(stdio = 'pipe') {
  const all = Array.isArray(stdio) ? stdio : [stdio, stdio, stdio]
  if (all.length > 3 || all.includes('ipc')) throw new TypeError('a command in a sandbox has stdin, stdout and stderr, and no other descriptor')
  return [0, 1, 2].map((number) => all[number] ?? 'pipe')
}

function flagsOf(options) {
  const flags = []
  for (const [name, value] of Object.entries(pathKeys(options))) flags.push(`--${name}`, value)
  if (options.preset !== undefined) flags.push('--preset', options.preset)
  if (options.policy !== undefined && !isDocument(options.policy)) flags.push('--policy', absolute(options.policy))
  for (const [name, value] of Object.entries(limitsOf(options) ?? {})) flags.push(...flagOf(`limits.${name}`, value))
  for (const [name, value] of Object.entries(options.set ?? {})) flags.push(...flagOf(name, value))
  if (options.context !== undefined) flags.push('--context', options.context)
  if (options.bestEffort) flags.push('--best-effort')
  if (options.pty) flags.push('--pty')
  return flags
}

function flagOf(key, value) {
  if (key === 'audit.log' && value === 'off') return ['--no-audit']
  if (!Object.hasOwn(FLAGS, key)) throw new TypeError(`spawn() cannot set '${key}': say it in a policy, or use run()`)
  return [value].flat().flatMap((one) => [FLAGS[key], String(one)])
}

function isDocument(policy) {
  return policy !== undefined && typeof policy !== 'string' && !(policy instanceof URL)
}

/** A policy in a file without a name: abatis reads none from a pipe. */
function openDocument(policy) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'abatis-'))
  try {
    const file = path.join(folder, 'policy.json')
    fs.writeFileSync(file, JSON.stringify(policy), { mode: 0o600 })
    return fs.openSync(file, 'r')
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
}

function resultOf(child) {
  const result = new Promise((resolve, reject) => {
    const pieces = []
    child.stdio[RESULT_FD]?.on('data', (piece) => pieces.push(piece)).on('error', reject)
    child.on('error', (problem) => problem.name === 'AbortError' || reject(problem))
    child.on('close', (code, signal) => {
      if (pieces.length) resolve(new Result(JSON.parse(Buffer.concat(pieces).toString())))
      else reject(new ServerError(`'abatis run' did not say how the command ended (${signal ?? `exit code ${code}`}); stderr may say more`))
    })
  })
  result.catch(() => {}) // who does not ask for it is not told
  return result
}

module.exports = { spawn }
