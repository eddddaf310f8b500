// find.js: where the program is.
'use strict'
const fs = require('node:fs')
const path = require('node:path')
const { ServerError } = require('./errors.js')

const known = new Map()

/** An absolute path: what was said, or the variable ABATIS, or `abatis` in PATH. */
function findProgram(said) {
  const named = said ?? (process.env.ABATIS || 'abatis')
  const key = `${named}\0${process.env.PATH}`
  if (!known.has(key)) {
    const found = locate(String(named))
    if (!found) throw new ServerError(complaint(said, named))
    known.set(key, found)
  }
  return known.get(key)
}

function complaint(said, named) {
  if (said !== undefined) return `the option abatis says '${named}', and there is no such program`
  if (process.env.ABATIS) return `the variable ABATIS says '${named}', and there is no such program`
  return "there is no 'abatis' in PATH: install it, or say where it is with the variable ABATIS or the option abatis"
}

function locate(name) {
  if (name.includes('/')) return isProgram(name) ? path.resolve(name) : undefined
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => folder.startsWith('/'))
  return folders.map((folder) => path.join(folder, name)).find(isProgram)
}

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return fs.statSync(file).isFile()
  } catch {
    return false
  }
}

module.exports = { findProgram }
