// errors.js: what abatis has to complain of.
'use strict'

class AbatisError extends Error {
  get name() {
    return this.constructor.name
  }
}

/** The program was not found, could not be started, or has ended with this request unanswered. */
class ServerError extends AbatisError {}

/** The server had ended before it could hear of this: another may be asked. */
class NotSent extends ServerError {
  get name() {
    return 'ServerError'
  }
}

/** A request was refused: `code` is one of docs/SERVER.md, `errno` what the system said, if it did. */
class RequestError extends AbatisError {
  constructor({ code, message, errno }) {
    super(`${message} (${code})`)
    this.code = code
    this.errno = errno
  }
}

/** A command that was to exit with 0 did not. */
class CommandFailed extends AbatisError {
  constructor(result) {
    super(`'${result.argv[0]}' ${result.ended}`)
    this.result = result
  }
}

module.exports = { AbatisError, ServerError, NotSent, RequestError, CommandFailed }
