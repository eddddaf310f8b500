// index.mjs: the same for import.
import abatis from './index.js'

export const { run, spawn, check, explain, probe, endSession, close, Result, AbatisError, CommandFailed, RequestError, ServerError } = abatis
export default abatis
