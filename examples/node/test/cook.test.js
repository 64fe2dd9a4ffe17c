import { afterEach, expect, test, vi } from 'vitest'
import { startCook } from '../src/cook.js'
import { useGroupmock } from './groupmock.js'

const groupmock = useGroupmock('--topic', 'orders:4')

let cooks = []
let gates = []
afterEach(async () => {
  gates.forEach((each) => each.resolve())
  await Promise.all(cooks.map((cook) => cook.stop()))
  cooks = []
  gates = []
})

test('a second cook takes half of the work', async () => {
  const cooked = []
  await start('anna', (dish) => cooked.push(dish))
  await groupmock.get('/v1/groups/kitchen/wait?state=Stable&members=1')
  await start('ben', (dish) => cooked.push(dish))
  const group = await groupmock.get('/v1/groups/kitchen/wait?state=Stable&members=2&assignment=orders')
  expect(group.members.map((member) => member.assignment.orders.length)).toEqual([2, 2])

  await order('coffee', 'tea', 'cake', 'soup')
  await groupmock.get('/v1/groups/kitchen/wait?lag=0')
  expect(cooked.sort()).toEqual(['cake', 'coffee', 'soup', 'tea'])
})

test('an order of a cook that crashed is cooked again', async () => {
  const cooked = []
  const [begun, never] = [gate(), gate()]
  await start('anna', (dish) => { begun.resolve(dish); return never.promise })
  await order('coffee')
  expect(await begun.promise).toBe('coffee')

  // The process sends nothing any more, and its session of 30 s ends now instead of in 30 s.
  await groupmock.post('/v1/groups/kitchen/freeze', { member: 'anna' })
  await groupmock.post('/v1/groups/kitchen/expire', { member: 'anna' })
  await start('ben', (dish) => cooked.push(dish))
  await groupmock.get('/v1/groups/kitchen/wait?members=1&lag=0')
  expect(cooked).toEqual(['coffee'])

  await groupmock.post('/v1/groups/kitchen/thaw', { member: 'anna' }) // she is not really dead, and must go on to leave
})

test('a cook that was too slow does not commit over the other', async () => {
  const cooked = []
  const [begun, slow] = [gate(), gate()]
  await start('anna', (dish) => { begun.resolve(dish); return slow.promise })
  await order('coffee')
  expect(await begun.promise).toBe('coffee')

  await groupmock.post('/v1/groups/kitchen/expire', { member: 'anna' })
  await start('ben', (dish) => cooked.push(dish))
  await vi.waitFor(() => expect(cooked).toEqual(['coffee']))
  slow.resolve() // anna commits, is refused, and comes back for more
  await groupmock.get('/v1/journal/wait?api=OffsetCommit&error=UNKNOWN_MEMBER_ID')
  await groupmock.get('/v1/groups/kitchen/wait?state=Stable&members=2&lag=0')
})

test('a lost answer to SyncGroup costs time and no order', async () => {
  const cooked = []
  await groupmock.post('/v1/faults', {
    name: 'lost-sync',
    when: { api: 'SyncGroup', role: 'follower' },
    stage: 'reply', // the coordinator counts the member as served
    do: { kind: 'drop' }, // and the member never hears of it
    times: 1,
  })
  await Promise.all(['anna', 'ben'].map((name) => start(name, (dish) => cooked.push(dish))))
  await groupmock.get('/v1/faults/lost-sync/wait?hits=1')
  const { members, leader } = await groupmock.get('/v1/groups/kitchen/wait?state=Stable&members=2')

  // KafkaJS joins as a new member, and the group waits for the old one until its session ends: now instead of in 30 s.
  await groupmock.get('/v1/groups/kitchen/wait?state=PreparingRebalance&members=3')
  await groupmock.post('/v1/groups/kitchen/expire', { member: members.find(({ member_id: id }) => id !== leader).member_id })
  await order('coffee', 'tea', 'cake', 'soup')
  await groupmock.get('/v1/groups/kitchen/wait?state=Stable&members=2&lag=0')
  expect(new Set(cooked)).toEqual(new Set(['coffee', 'tea', 'cake', 'soup']))
})

async function start(name, recipe) {
  const settings = {
    client: { requestTimeout: 1000 }, // gives a lost answer up soon
    consumer: { heartbeatInterval: 100, maxWaitTimeInMs: 100 }, // hears of a rebalance soon
  }
  cooks.push(await startCook({ name, brokers: groupmock.brokers, recipe, settings }))
}

/** Produces one order to each partition in turn. */
async function order(...dishes) {
  await groupmock.post('/v1/topics/orders/records', ...dishes.map((value, number) => ({ value, partition: number % 4 })))
}

/** Returns a promise and its resolver. The end of the test resolves the promise if nothing did before. */
function gate() {
  const made = {}
  made.promise = new Promise((resolve) => { made.resolve = resolve })
  gates.push(made)
  return made
}
