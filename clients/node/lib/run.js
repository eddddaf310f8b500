// run.js: running and asking, with one warm server behind.
'use strict'
const { NotSent, RequestError } = require('./errors.js')
const { findProgram } = require('./find.js')
const { POLICY_OPTIONS, absolute, policyKeys, refuseUnknown, runRequest } = require('./request.js')
const { Result, textOf } = require('./result.js')
const { Server } = require('./server.js')

const ATTEMPTS = 3
const servers = new Map()

function serverOf(program) {
  let server = servers.get(program)
  if (!server || server.dead) servers.set(program, (server = new Server(program)))
  return server
}

/** Asks a server, a new one if there is none, or none that lives. Who aborts is told so when the command has ended. */
async function ask(request, program, signal) {
  const path = findProgram(program)
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    const server = serverOf(path)
    const call = server.send(withEnvironment(server, request))
    const forget = onAbort(signal, () => server.cancel(call))
    try {
      const answer = await call.answer
      if (answer.cancelled) signal?.throwIfAborted()
      return answer
    } catch (problem) {
      if (problem instanceof RequestError && problem.code === 'PROTOCOL_CANCELLED') signal?.throwIfAborted()
      if (!(problem instanceof NotSent) || attempt === ATTEMPTS) throw problem
    } finally {
      forget()
    }
  }
}

const aborts = new WeakMap()

/** One listener for each signal, however many commands it is for: Node warns of more than ten. */
function onAbort(signal, action) {
  if (!signal) return () => {}
  let actions = aborts.get(signal)
  if (!actions) {
    aborts.set(signal, (actions = new Set()))
    signal.addEventListener('abort', () => actions.forEach((act) => act()), { once: true })
  }
  actions.add(action)
  return () => actions.delete(action)
}

/** A command has this process's environment as it is now, and the server has it as it was. */
function withEnvironment(server, request) {
  if (request.method !== 'run' || request.env) return request
  const now = { ...process.env }
  const names = Object.keys(now)
  const isSame = names.length === Object.keys(server.environment).length && names.every((name) => now[name] === server.environment[name])
  return isSame ? request : { ...request, env: now }
}

/** Runs a command in the sandbox of a policy, and says how it ended. */
async function run(command, { abatis, signal, check = false, ...options } = {}) {
  const result = new Result(await ask(runRequest(command, options), abatis, signal))
  return check ? result.check() : result
}

/** May a command "read", "write" or "execute" that? From the policy alone: nothing is run. */
async function check(access, file, { abatis, ...options } = {}) {
  refuseUnknown(options, POLICY_OPTIONS)
  const { allowed, rule } = await ask({ method: 'check', access, path: absolute(file), ...withWorkspace(options) }, abatis)
  return { allowed, rule: textOf(rule) }
}

/** The plan of a policy, as `abatis explain --json` prints it. */
async function explain({ abatis, tier, bestEffort, ...options } = {}) {
  refuseUnknown(options, POLICY_OPTIONS)
  const words = { ...(tier === undefined ? {} : { tier }), ...(bestEffort ? { best_effort: true } : {}) }
  return ask({ method: 'explain', ...words, ...withWorkspace(options) }, abatis)
}

function withWorkspace(options) {
  return policyKeys({ workspace: process.cwd(), ...options })
}

/** Which abatis answers, and what the machine can enforce. */
async function probe({ abatis } = {}) {
  return ask({ method: 'probe' }, abatis)
}

/** Ends a session and what runs in it; false if there is none. */
async function endSession(session, { abatis } = {}) {
  return (await ask({ method: 'cancel', session }, abatis)).cancelled
}

/** Ends the servers, and what they run. The next request starts another. */
async function close() {
  const all = [...servers.values()]
  servers.clear()
  await Promise.all(all.map((server) => server.close()))
}

module.exports = { run, check, explain, probe, endSession, close, servers }
