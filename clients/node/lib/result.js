// result.js: how a command ended, and what held it.
'use strict'
const os = require('node:os')
const { CommandFailed } = require('./errors.js')

const names = new Map(Object.entries(os.constants.signals).map(([name, number]) => [number, name]))

class Result {
  #stdout
  #stderr

  constructor(message) {
    this.argv = message.argv.map(textOf)
    this.exitCode = message.exit_code
    this.signal = message.signal === null ? null : names.get(message.signal) ?? `SIG${message.signal}`
    this.stdoutBytes = message.stdout_bytes
    this.stderrBytes = message.stderr_bytes
    this.durationMs = message.duration_ms
    this.truncated = message.truncated
    this.timedOut = message.timed_out
    this.cancelled = message.cancelled
    this.limit = message.limit
    this.backend = message.backend
    this.enforced = message.enforced.map(textOf)
    this.notEnforced = message.not_enforced.map(textOf)
    this.connections = message.connections ?? []
    this.connectionsOmitted = message.connections_omitted ?? 0
    this.setAside = message.set_aside ?? []
    this.auditId = message.audit_id
    this.#stdout = message.stdout_base64
    this.#stderr = message.stderr_base64
    // U+FFFD for what is no UTF-8.
    this.stdout = message.stdout ?? this.stdoutRaw.toString()
    this.stderr = message.stderr ?? this.stderrRaw.toString()
  }

  get stdoutRaw() {
    return bytesOf(this.stdout, this.#stdout)
  }

  get stderrRaw() {
    return bytesOf(this.stderr, this.#stderr)
  }

  get ok() {
    return this.exitCode === 0
  }

  get ended() {
    if (this.limit) return `was ended by ${this.limit}`
    if (this.cancelled) return 'was cancelled'
    return this.exitCode === null ? `was killed by ${this.signal}` : `exited with ${this.exitCode}`
  }

  /** Itself, if it exited with 0. */
  check() {
    if (!this.ok) throw new CommandFailed(this)
    return this
  }
}

/** Text, or what is none as base64. */
function bytesOf(text, base64) {
  return base64 === undefined ? Buffer.from(text ?? '') : Buffer.from(base64, 'base64')
}

/** A string, or one that is no UTF-8: there is no other way to say that here. */
function textOf(value) {
  return typeof value === 'string' ? value : Buffer.from(value.base64, 'base64').toString()
}

module.exports = { Result, textOf }
