'use strict'

const { isDeepStrictEqual } = require('node:util')

const PATIENCE_MS = 15000
const LIMIT_MS = 55000

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

/** What was seen, printed as one JSON line; a mismatch throws with the step's name. */
class Facts {
  constructor(client) {
    this.seen = { driver: 'kafkajs', client }
    this.stepName = 'start'
    this.began = Date.now()
    setTimeout(() => this.end(`still running after ${LIMIT_MS} ms`), LIMIT_MS).unref()
  }

  step(name) {
    this.stepName = name
  }

  put(name, value) {
    this.seen[name] = value
  }

  /** Notes `actual` under `name` and insists that it equals `expected`. */
  same(name, expected, actual) {
    this.put(name, actual)
    if (!isDeepStrictEqual(expected, actual)) {
      throw new Error(`${name}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`)
    }
  }

  /** Polls until `done()` (may be async); the deadline's message carries what `last()` saw. */
  async await(what, done, last) {
    const end = Date.now() + PATIENCE_MS
    while (!(await done())) {
      if (Date.now() > end) {
        throw new Error(`${what}: not within ${PATIENCE_MS} ms; last seen: ${JSON.stringify(await last())}`)
      }
      await pause(10)
    }
  }

  /** Prints the line and leaves: status 0 only without a failure. */
  end(failure) {
    const line = { ...this.seen, ms: Date.now() - this.began, ok: failure === undefined }
    if (failure !== undefined) line.failed = `${this.stepName}: ${failure}`
    process.stdout.write(`${JSON.stringify(line)}\n`, () => process.exit(failure === undefined ? 0 : 1))
  }
}

module.exports = { Facts }
