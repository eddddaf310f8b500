// common.js: the common ground of the tests: a scratch directory, who is alive, the server behind.
'use strict'
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { test } = require('node:test')
const abatis = require('abatis')
const { servers } = require(path.join(path.dirname(require.resolve('abatis')), 'lib/run.js'))

const PATIENCE = 60_000 // milliseconds that anything may take before it counts as hanging
const top = process.cwd()

/** A test in an empty directory. */
function fact(name, body) {
  test(name, { timeout: PATIENCE }, async () => {
    const workspace = fs.mkdtempSync(path.join(os.tmpdir(), 'ws-'))
    process.chdir(workspace)
    try {
      await body(fs.realpathSync(workspace))
    } finally {
      process.chdir(top)
      fs.rmSync(workspace, { recursive: true, force: true })
    }
  })
}

async function eventually(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** The server's process, after it has been asked something. */
async function serverPid() {
  await abatis.run(['true'])
  return [...servers.values()].find((server) => !server.dead).child.pid
}

function isAlive(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)[0] !== 'Z'
  } catch {
    return false
  }
}

/** Processes whose command line has this word. */
function alive(word) {
  return fs.readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').includes(word)
    } catch {
      return false
    }
  })
}

let count = 0
const unique = () => `abatis-test-${process.pid}-${++count}`
/** A command that stays, and can be found by this word. */
const lasting = (word) => ['sh', '-c', 'sleep 600 & wait', word]

module.exports = { fact, eventually, serverPid, isAlive, alive, unique, lasting }
