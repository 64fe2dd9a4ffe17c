// A member that is a KafkaJS consumer; the protocol is told in ../../README.md.
'use strict'

const readline = require('node:readline')
const { Kafka, logLevel } = require('kafkajs')
const { version } = require('kafkajs/package.json')

const wish = JSON.parse(process.env.MEMBER)
const say = (event, facts = {}) => process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`)

const kafka = new Kafka({
  clientId: wish.name, brokers: wish.bootstrap.split(','), logLevel: logLevel.NOTHING,
  connectionTimeout: 5000, requestTimeout: 10000, retry: { retries: 5, initialRetryTime: 50, maxRetryTime: 1000 },
})
const consumer = kafka.consumer({
  groupId: wish.group, sessionTimeout: wish.session_ms, rebalanceTimeout: 15000, heartbeatInterval: wish.heartbeat_ms, maxWaitTimeInMs: 200,
})
const positions = new Map()
let owned = []

consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  owned = [...(payload.memberAssignment[wish.topic] || [])].sort((one, two) => one - two)
  say('holds', { partitions: owned })
})
consumer.on(consumer.events.CRASH, ({ payload }) => say('crashed', { why: String(payload.error) }))

async function commit () {
  await consumer.commitOffsets([...positions].filter(([partition]) => owned.includes(partition))
    .map(([partition, offset]) => ({ topic: wish.topic, partition, offset })))
  say('committed')
}

async function leave () {
  await consumer.disconnect()
  say('left')
  process.exit(0)
}

async function main () {
  await consumer.connect()
  await consumer.subscribe({ topics: [wish.topic], fromBeginning: true })
  say('ready', { client: `kafkajs ${version}` })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      positions.set(partition, (BigInt(message.offset) + 1n).toString())
      say('record', { partition, offset: Number(message.offset), value: message.value.toString() })
    },
  })
}

const fail = error => { say('failed', { why: String(error.stack || error) }); process.exit(1) }
const lines = readline.createInterface({ input: process.stdin })
lines.on('line', line => ({ commit, leave })[line.trim()]().catch(fail))
lines.on('close', () => process.exit(0))
main().catch(fail)
