// node.mjs: runs a module by node's own WASI, in the world of lib.sh: node.mjs MODULE INSIDE SECOND [ARGUMENT...]
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { WASI } from 'node:wasi'

const [module, inside, second, ...words] = process.argv.slice(2)
const wasi = new WASI({
  version: 'preview1',
  args: [basename(module), ...words],
  env: { A: '1', B: 'two words' },
  preopens: { '/in': inside, '/second': second },
})

try {
  const { instance } = await WebAssembly.instantiate(readFileSync(module), wasi.getImportObject())
  process.exitCode = wasi.start(instance)
} catch (error) {
  process.stderr.write(`trap: ${error.message}\n`)
  process.exitCode = 134
}
