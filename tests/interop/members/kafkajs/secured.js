// A KafkaJS consumer of a secured listener; the protocol is told in ../../README.md.
'use strict'

const fs = require('node:fs')
const { Kafka, logLevel } = require('kafkajs')
const { version } = require('kafkajs/package.json')

const wish = JSON.parse(process.env.MEMBER)
const say = (event, facts = {}) => process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`)
const read = path => path === null ? undefined : fs.readFileSync(path, 'utf8')

async function token () {
  if (wish.token_endpoint === null) return { value: wish.token }
  const secret = Buffer.from(`${wish.user}:${wish.password}`).toString('base64')
  const answer = await fetch(wish.token_endpoint, {
    method: 'POST', body: new URLSearchParams({ grant_type: 'client_credentials' }), headers: { Authorization: `Basic ${secret}` },
  })
  return { value: (await answer.json()).access_token }
}

const sasl = wish.mechanism === 'OAUTHBEARER'
  ? { mechanism: 'oauthbearer', oauthBearerProvider: token }
  : { mechanism: wish.mechanism.toLowerCase(), username: wish.user, password: wish.password }
const ssl = { ca: read(wish.ca), cert: read(wish.certificate), key: read(wish.key) }

const kafka = new Kafka({
  clientId: wish.name, brokers: wish.bootstrap.split(','), logLevel: logLevel.NOTHING, connectionTimeout: 3000, requestTimeout: 5000,
  retry: { retries: 1, initialRetryTime: 100 }, ...(wish.protocol.endsWith('SSL') ? { ssl } : {}),
  ...(wish.protocol.startsWith('SASL') ? { sasl } : {}),
})
const consumer = kafka.consumer({ groupId: wish.group, maxWaitTimeInMs: 200, retry: { retries: 1, initialRetryTime: 100 } })

// Errors are wrapped when they were tried again: the innermost one says what was wrong.
const raised = error => {
  while (error.cause instanceof Error) error = error.cause
  say('raised', { error: error.type || error.code || error.name, text: error.message })
}
const leave = () => { say('left'); process.exit(0) }
consumer.on(consumer.events.CRASH, ({ payload }) => { raised(payload.error); leave() })

async function main () {
  say('ready', { client: `kafkajs ${version}` })
  setTimeout(leave, wish.seconds * 1000)
  await consumer.connect()
  await consumer.subscribe({ topics: [wish.topic], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      say('record', { offset: Number(message.offset) })
      await consumer.commitOffsets([{ topic: wish.topic, partition, offset: (BigInt(message.offset) + 1n).toString() }])
      say('committed')
      leave()
    },
  })
}

main().catch(error => { raised(error); leave() })
