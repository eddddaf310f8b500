// Measures the Node package as clients.py does the Python one: clients.mjs PACKAGE DIR ROUNDS, with the program in ABATIS.
import { execFile, spawnSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { promisify } from 'node:util'

const [, , where, directory, rounds] = process.argv
const { run, close } = await import(`${where}/index.mjs`)

const AT_ONCE = 64
const COMMAND = 'true'
const BAR = 1.5
const WARM_UP = 20

async function ours () {
  if ((await run([COMMAND])).exitCode !== 0) throw new Error('clients: the command has failed')
}

function own () {
  if (spawnSync(COMMAND).status !== 0) throw new Error('clients: the command has failed')
}

const ownLater = () => promisify(execFile)(COMMAND)
const allAtOnce = (what) => () => Promise.all(Array.from({ length: AT_ONCE }, what))

function median (values) {
  values.sort((left, right) => left - right)
  return values[values.length >> 1]
}

async function compare (contenders, count) {
  const samples = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]))
  for (let i = 0; i < WARM_UP + count; i++) {
    for (const [name, what] of Object.entries(contenders)) {
      const start = process.hrtime.bigint()
      await what()
      if (i >= WARM_UP) samples[name].push(Number(process.hrtime.bigint() - start) / 1e3)
    }
  }
  return Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, median(values)]))
}

function tell (name, medians) {
  const [[theirs, own], [mine, median]] = Object.entries(medians)
  const ratio = median / own
  console.log(`${name.padEnd(16)}${theirs} ${own.toFixed(0)} us   ${mine} ${median.toFixed(0)} us   ${ratio.toFixed(2)} x`)
  appendFileSync(`${directory}/figures`, `clients\t${name}\tus=${median.toFixed(1)}\town_us=${own.toFixed(1)}\n`)
  appendFileSync(`${directory}/bars`,
    `${ratio <= BAR ? 'PASS' : 'FAIL'}  ${`clients: ${name}, against its own`.padEnd(52)} ${ratio.toFixed(3).padStart(9)} <= ${BAR}\n`)
}

tell('node', await compare({ spawnSync: own, run: ours }, Number(rounds)))
tell('node, 64', await compare({ execFile: allAtOnce(ownLater), run: allAtOnce(ours) }, Math.max(rounds / 10, 10)))
await close()
