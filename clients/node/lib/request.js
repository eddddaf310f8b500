// request.js: from options to a request of docs/SERVER.md; what it cannot say is refused here.
'use strict'
const path = require('node:path')
const { fileURLToPath } = require('node:url')
const { RequestError } = require('./errors.js')

const PROTOCOL = 1
const LONGEST = 8 << 20 // bytes of a line
const POLICY_OPTIONS = ['policy', 'preset', 'workspace', 'data', 'config', 'limits', 'timeout', 'set']
const RUN_OPTIONS = [...POLICY_OPTIONS, 'cwd', 'env', 'input', 'merge', 'session', 'context', 'bestEffort']

/** A request as the server reads it. */
function lineOf(id, request) {
  const text = JSON.stringify({ id, protocol: PROTOCOL, ...request })
  // Half of a surrogate pair is written as an escape, and nothing else of that range is.
  if (/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text)) throw new TypeError('abatis takes only what is Unicode, and there is half of a character in it')
  const line = Buffer.from(text + '\n')
  if (line.length > LONGEST) {
    throw new RequestError({ code: 'PROTOCOL_LENGTH', message: `the request has ${line.length} bytes, and ${LONGEST} is the most` })
  }
  return line
}

function refuseUnknown(options, known) {
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw new TypeError(`there is no option '${name}'`)
  }
}

function wordsOf(command) {
  if (!Array.isArray(command)) {
    throw new TypeError("the command is an array of words: [program, argument, ...]; for a line of shell it is ['sh', '-c', line]")
  }
  if (!command.length) throw new TypeError('the command is empty')
  for (const word of command) if (typeof word !== 'string') throw new TypeError(`a word of the command is no string: ${word}`)
  return command
}

function absolute(file) {
  return path.resolve(file instanceof URL ? fileURLToPath(file) : file)
}

function durationOf(milliseconds) {
  if (!Number.isFinite(milliseconds) || milliseconds < 0) throw new RangeError(`a timeout of ${milliseconds} ms`)
  return `${Math.max(1, Math.ceil(milliseconds))}ms`
}

function limitsOf({ limits, timeout }) {
  if (timeout === undefined) return limits
  if (limits && 'timeout' in limits) throw new TypeError('there are two timeouts, one in limits')
  return { ...limits, timeout: durationOf(timeout) }
}

/** What every request with a policy takes. An object is a policy, a string or URL a policy file. */
function policyKeys(options) {
  const { policy, preset, set } = options
  const isFile = typeof policy === 'string' || policy instanceof URL
  return defined({
    policy: isFile ? undefined : policy,
    policy_file: isFile ? absolute(policy) : undefined,
    preset,
    ...pathKeys(options),
    limits: limitsOf(options),
    set,
  })
}

function pathKeys(options) {
  const keys = {}
  for (const name of ['workspace', 'data', 'config']) if (options[name] !== undefined) keys[name] = absolute(options[name])
  return keys
}

function defined(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}

/** A command is of this process's directory as it is now: the server's is another. */
function runRequest(command, options) {
  refuseUnknown(options, RUN_OPTIONS)
  const { cwd, env, input, merge, session, context, bestEffort } = options
  const isText = typeof input === 'string' && !input.includes('\0')
  return defined({
    method: 'run',
    command: wordsOf(command),
    cwd: cwd === undefined ? process.cwd() : absolute(cwd),
    env: env && defined(env),
    stdin: isText ? input : undefined,
    stdin_base64: input === undefined || isText ? undefined : bytesOf(input).toString('base64'),
    merge: merge || undefined,
    session,
    context,
    best_effort: bestEffort || undefined,
    ...policyKeys(options),
  })
}

function bytesOf(input) {
  return ArrayBuffer.isView(input) ? Buffer.from(input.buffer, input.byteOffset, input.byteLength) : Buffer.from(input)
}

module.exports = { PROTOCOL, POLICY_OPTIONS, lineOf, refuseUnknown, wordsOf, absolute, pathKeys, limitsOf, policyKeys, runRequest }
