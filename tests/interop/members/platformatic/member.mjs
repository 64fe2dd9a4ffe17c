// A member that is a @platformatic/kafka consumer; the protocol is told in ../../README.md.
import { readFileSync } from 'node:fs'
import readline from 'node:readline'
import { Consumer, stringDeserializers } from '@platformatic/kafka'

// the package does not export its package.json
const { version } = JSON.parse(readFileSync(new URL('./node_modules/@platformatic/kafka/package.json', import.meta.url)))
const wish = JSON.parse(process.env.MEMBER)
const say = (event, facts = {}) => process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`)
const fail = error => { say('failed', { why: String(error.stack || error) }); process.exit(1) }

const consumer = new Consumer({
  clientId: wish.name, groupId: wish.group, bootstrapBrokers: wish.bootstrap.split(','), deserializers: stringDeserializers,
  sessionTimeout: wish.session_ms, rebalanceTimeout: Math.max(15000, wish.session_ms), heartbeatInterval: wish.heartbeat_ms,
  maxWaitTime: 200, autocommit: false, metadataMaxAge: 2000, ...(wish.instance === null ? {} : { groupInstanceId: wish.instance }),
})
const positions = new Map()
let owned = []
let stream

consumer.on('consumer:group:join', ({ assignments }) => {
  owned = (assignments || []).filter(each => each.topic === wish.topic).flatMap(each => each.partitions).sort((one, two) => one - two)
  say('holds', { partitions: owned })
})

async function commit () {
  const offsets = [...positions].filter(([partition]) => owned.includes(partition))
    .map(([partition, offset]) => ({ topic: wish.topic, partition, offset, leaderEpoch: 0 }))
  if (offsets.length > 0) await consumer.commit({ offsets })
  say('committed')
}

async function leave () {
  await stream.close()
  await consumer.close(true)
  say('left')
  process.exit(0)
}

async function main () {
  say('ready', { client: `@platformatic/kafka ${version}` })
  stream = await consumer.consume({ topics: [wish.topic], mode: 'committed', fallbackMode: 'earliest' })
  stream.on('error', fail)
  stream.on('data', message => {
    positions.set(message.partition, message.offset + 1n)
    say('record', { partition: message.partition, offset: Number(message.offset), value: message.value })
  })
}

const lines = readline.createInterface({ input: process.stdin })
lines.on('line', line => ({ commit, leave })[line.trim()]().catch(fail))
lines.on('close', () => process.exit(0))
main().catch(fail)
