import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, beforeEach, onTestFailed } from 'vitest'

/**
 * A mock cluster for the tests of a file: a process that starts before the first and ends after the last. Each test finds it empty;
 * a test that fails prints the story of its groups. `flags` are those of `groupmock serve --help`.
 */
export function useGroupmock(...flags) {
  const groupmock = {
    brokers: [],
    get: (path) => ask(path),
    post: (path, ...lines) => ask(path, { method: 'POST', body: lines.map((line) => JSON.stringify(line)).join('\n') }),
  }
  let child, control

  async function ask(path, init) {
    const answer = await fetch(control + path, init)
    const body = await answer.json()
    if (!answer.ok) throw new Error(`${answer.status} ${body.error}`)
    return body
  }

  beforeAll(async () => {
    // $GROUPMOCK may name the command, here: "/opt/venv/bin/groupmock", "python3 -m groupmock".
    const [program, ...words] = (process.env.GROUPMOCK ?? 'groupmock').split(' ')
    const serve = ['serve', '--port', '0', '--control', '0', '--log', 'off', ...flags]
    child = spawn(program, [...words, ...serve], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child, 'spawn')
    const lines = createInterface(child.stdout)
    const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit')]) // one line of JSON, when it answers
    if (typeof line !== 'string') throw new Error('groupmock did not start; it has said above why')
    const ready = JSON.parse(line)
    control = ready.control
    groupmock.brokers = [ready.bootstrap]
  })

  beforeEach(async () => {
    await groupmock.post('/v1/reset')
    onTestFailed(async () => {
      for (const { group_id: group } of await groupmock.get('/v1/groups')) {
        console.error((await groupmock.get(`/v1/groups/${encodeURIComponent(group)}`)).story.join('\n'))
      }
    })
  })

  afterAll(async () => {
    if (child.exitCode === null && child.kill()) await once(child, 'exit')
  })

  return groupmock
}
