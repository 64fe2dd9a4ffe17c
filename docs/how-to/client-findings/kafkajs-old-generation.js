// client: KafkaJS 2.2.4
// breaks: CLIENT-19
// run: groupmock run --topic orders:1 --plan kafkajs-old-generation.toml --journal finding.jsonl -- node kafkajs-old-generation.js
//
// The answer to a SyncGroup is lost with its connection. KafkaJS goes on with heartbeats in the new generation, which it knows from JoinGroup,
// while its offset manager still has the old one: every commit is refused with ILLEGAL_GENERATION, until something makes it join once more.
'use strict'
const { Kafka } = require('kafkajs')

const kafka = new Kafka({ clientId: 'desk', brokers: [process.env.GROUPMOCK_BOOTSTRAP] })
const consumer = kafka.consumer({ groupId: 'desk', heartbeatInterval: 300, maxWaitTimeInMs: 200 })
const producer = kafka.producer()

async function main () {
  await producer.connect()
  await consumer.connect()
  await consumer.subscribe({ topics: ['orders'], fromBeginning: true })
  await consumer.run({ autoCommitInterval: 100, eachMessage: async () => {} })
  const writing = setInterval(() => producer.send({ topic: 'orders', messages: [{ value: 'one' }] }).catch(() => {}), 50)
  setTimeout(async () => {
    clearInterval(writing)
    await consumer.disconnect()
    await producer.disconnect()
  }, 10000)
}

main()
