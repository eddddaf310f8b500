// server.js: one `abatis serve`, and who waits for its answers.
'use strict'
const { spawn } = require('node:child_process')
const { NotSent, RequestError, ServerError } = require('./errors.js')
const { lineOf } = require('./request.js')

const MOST_AT_ONCE = 512 // requests that the server knows of; it refuses the 1025th
const MOST_BYTES = 32 << 20 // of their text; it refuses more than 64 MiB
const LAST_WORDS = 4096
const PATIENCE = 2000 // milliseconds that it has to end by itself

class Server {
  constructor(program) {
    this.program = program
    this.environment = { ...process.env }
    this.numbers = 0
    this.pending = new Map()
    this.pendingBytes = 0
    this.waiting = new Set() // not sent yet
    this.pieces = [] // of a line that has no end yet
    this.complaints = ''
    this.dead = false
    // In a session of its own: Ctrl-C is for this program, which cancels what it wants to.
    this.child = spawn(program, ['serve'], { cwd: '/', detached: true, stdio: 'pipe' })
    this.ended = new Promise((resolve) => {
      this.child.on('error', (problem) => resolve(this.#fail(`cannot be started: ${problem.message}`)))
      // What was written, or could not be, is said before anybody is told that it has ended.
      this.child.on('close', (code, signal) => setImmediate(() => resolve(this.#fail(`has ended (${signal ?? `exit code ${code}`})`))))
    })
    if (!this.child.stdin) throw new ServerError(`'${program} serve' cannot be started: there are no descriptors left`)
    this.child.stdin.on('error', () => {}) // its end is heard of elsewhere
    this.child.stdout.on('data', (piece) => this.#take(piece))
    this.child.stderr.on('data', (piece) => (this.complaints = (this.complaints + piece).slice(0, LAST_WORDS)))
    this.child.on('exit', () => (this.dead = true))
    for (const handle of [this.child, this.child.stdin, this.child.stdout, this.child.stderr]) handle.unref?.()
  }

  /** Asks. The answer is `call.answer`, a promise. */
  send(request) {
    const call = { number: ++this.numbers, isUnsent: false }
    call.line = lineOf(call.number, request)
    call.answer = new Promise((resolve, reject) => Object.assign(call, { resolve, reject }))
    if (this.#isFull(call)) this.waiting.add(call)
    else this.#submit(call)
    this.#hold()
    return call
  }

  /** The call gets its answer soon, whatever that is. */
  cancel(call) {
    if (this.waiting.delete(call)) {
      call.reject(new RequestError({ code: 'PROTOCOL_CANCELLED', message: 'cancelled before it was sent' }))
    } else if (this.pending.has(call.number)) {
      this.child.stdin.write(lineOf(++this.numbers, { method: 'cancel', target: call.number }))
    }
  }

  /** Ends it, and what it runs. */
  async close() {
    if (this.pending.size || this.waiting.size) this.child.kill('SIGTERM')
    this.child.stdin.end()
    this.child.ref()
    const patience = setTimeout(() => this.child.kill('SIGKILL'), PATIENCE)
    await this.ended
    clearTimeout(patience)
  }

  #isFull(call) {
    return this.pending.size > 0 && (this.pending.size >= MOST_AT_ONCE || this.pendingBytes + call.line.length > MOST_BYTES)
  }

  #submit(call) {
    this.pending.set(call.number, call)
    this.pendingBytes += call.line.length
    this.child.stdin.write(call.line, (problem) => (call.isUnsent = Boolean(problem)))
  }

  /** The event loop goes on as long as somebody waits, and no longer. */
  #hold() {
    const word = this.pending.size ? 'ref' : 'unref'
    this.child[word]()
    this.child.stdout[word]?.()
  }

  #take(piece) {
    let start = 0
    for (let end; (end = piece.indexOf(10, start)) >= 0; start = end + 1) {
      const line = piece.subarray(start, end)
      const whole = this.pieces.length ? Buffer.concat([...this.pieces, line]) : line
      this.pieces = []
      try {
        this.#hear(JSON.parse(whole.toString()))
      } catch (problem) {
        this.child.kill('SIGKILL')
        this.#fail(`says what makes no sense: ${problem.message}`)
        return
      }
    }
    if (start < piece.length) this.pieces.push(piece.subarray(start))
  }

  #hear(message) {
    const call = this.pending.get(message.id)
    if (!call) {
      if (message.id === null) throw new RequestError(message.error)
      return // the answer to a cancel
    }
    if (!message.result && !message.error) throw new Error('there is no result')
    this.pending.delete(call.number)
    this.pendingBytes -= call.line.length
    if (message.error) call.reject(new RequestError(message.error))
    else call.resolve(message.result)
    for (const following of this.waiting) {
      if (this.#isFull(following)) break
      this.waiting.delete(following)
      this.#submit(following)
    }
    this.#hold()
  }

  /** It is of no use any more: whoever waits is told so. */
  #fail(what) {
    this.dead = true
    const said = this.complaints.trim()
    const words = `'${this.program} serve' ${what}${said && `: ${said}`}`
    const calls = [...this.pending.values(), ...this.waiting]
    for (const call of calls) call.reject(call.isUnsent || this.waiting.has(call) ? new NotSent(words) : new ServerError(words))
    this.pending.clear()
    this.waiting.clear()
    this.#hold()
  }
}

module.exports = { Server }
