// A KafkaJS consumer as users write it, for `groupmock audit --drive`: all from the environment, automatic commits, closed on SIGTERM.
'use strict'

const { Kafka, logLevel } = require('kafkajs')

const env = process.env
const kafka = new Kafka({
  clientId: env.GROUPMOCK_CLIENT_ID, brokers: env.GROUPMOCK_BOOTSTRAP.split(','), logLevel: logLevel.WARN, requestTimeout: 8000,
})
const consumer = kafka.consumer({
  groupId: env.GROUPMOCK_GROUP, sessionTimeout: 6000, rebalanceTimeout: 20000, heartbeatInterval: 500, metadataMaxAge: 2000, maxWaitTimeInMs: 500,
})

async function main () {
  await consumer.connect()
  await consumer.subscribe({ topics: [env.GROUPMOCK_TOPIC], fromBeginning: true })
  await consumer.run({ autoCommitInterval: 500, eachMessage: async () => {} })
}

process.on('SIGTERM', () => consumer.disconnect().then(() => process.exit(0), error => { console.error(error); process.exit(1) }))
main().catch(error => { console.error(error); process.exit(1) })
