import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, beforeEach, onTestFailed } from 'vitest'

/**
 * A mock cluster for the tests of a file: a process that starts before the first and ends after the last. Each test finds it as new;
 * one that fails prints the story of its groups. `flags` as in `groupmock serve --help`.
 */
export function useGroupmock(...flags) {
  const groupmock = { brokers: [], get: (path) => ask(path), post: (path, body) => ask(path, { method: 'POST', body: JSON.stringify(body) }) }
  let child, control

  async function ask(path, init) {
    const answer = await fetch(control + path, init)
    const body = await answer.json()
    if (!answer.ok) throw new Error(`${answer.status} ${body.error}`)
    return body
  }

  beforeAll(async () => {
    // $GROUPMOCK may say how it is started here: "docker run --rm ...", "/opt/venv/bin/groupmock".
    const [program, ...words] = (process.env.GROUPMOCK ?? 'groupmock').split(' ')
    const serve = ['serve', '--port', '0', '--control', '0', '--log', 'off', ...flags]
    child = spawn(program, [...words, ...serve], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(createInterface(child.stdout), 'line') // one line of JSON, when it answers
    const ready = JSON.parse(line)
    control = ready.control
    groupmock.brokers = [ready.bootstrap]
  })

  beforeEach(async () => {
    await groupmock.post('/v1/reset', {})
    onTestFailed(async () => {
      for (const { group_id: id } of await groupmock.get('/v1/groups')) console.error((await groupmock.get(`/v1/groups/${id}`)).story.join('\n'))
    })
  })

  afterAll(async () => {
    child.kill()
    await once(child, 'exit')
  })

  return groupmock
}
