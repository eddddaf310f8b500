// index.js: commands in the sandbox of abatis, for require().
'use strict'
const { AbatisError, CommandFailed, RequestError, ServerError } = require('./lib/errors.js')
const { check, close, endSession, explain, probe, run } = require('./lib/run.js')
const { Result } = require('./lib/result.js')
const { spawn } = require('./lib/spawn.js')

module.exports = { run, spawn, check, explain, probe, endSession, close, Result, AbatisError, CommandFailed, RequestError, ServerError }
