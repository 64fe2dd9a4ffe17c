// A member that is a @confluentinc/kafka-javascript consumer; the protocol is told in ../../README.md.
'use strict'

const readline = require('node:readline')
const { CODES, KafkaJS, librdkafkaVersion } = require('@confluentinc/kafka-javascript')
const { version } = require('@confluentinc/kafka-javascript/package.json')

const wish = JSON.parse(process.env.MEMBER)
const say = (event, facts = {}) => process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`)

const positions = new Map()
let owned = []

function rebalanced (error, assignment) {
  if (error.code !== CODES.ERRORS.ERR__ASSIGN_PARTITIONS) return
  owned = assignment.map(each => each.partition).sort((one, two) => one - two)
  say('holds', { partitions: owned })
}

const kafka = new KafkaJS.Kafka({ kafkaJS: { clientId: wish.name, brokers: wish.bootstrap.split(','), logLevel: KafkaJS.logLevel.NOTHING } })
const consumer = kafka.consumer({
  kafkaJS: {
    groupId: wish.group, fromBeginning: true, autoCommit: false, sessionTimeout: wish.session_ms, heartbeatInterval: wish.heartbeat_ms,
    rebalanceTimeout: 30000, maxWaitTimeInMs: 200, partitionAssigners: [KafkaJS.PartitionAssigners[wish.assignor]],
  },
  rebalance_cb: rebalanced,
  ...(wish.instance === null ? {} : { 'group.instance.id': wish.instance }),
})

async function commit () {
  const offsets = [...positions].filter(([partition]) => owned.includes(partition))
    .map(([partition, offset]) => ({ topic: wish.topic, partition, offset }))
  if (offsets.length > 0) await consumer.commitOffsets(offsets)
  say('committed')
}

async function leave () {
  await consumer.disconnect()
  say('left')
  process.exit(0)
}

async function main () {
  await consumer.connect()
  await consumer.subscribe({ topic: wish.topic })
  say('ready', { client: `@confluentinc/kafka-javascript ${version} (librdkafka ${librdkafkaVersion})` })
  await consumer.run({
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
