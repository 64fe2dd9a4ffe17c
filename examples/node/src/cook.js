import { Kafka, logLevel } from 'kafkajs'

/**
 * The service cooks orders and commits each when it is cooked, so that none is lost. Some are cooked twice.
 * `settings` are KafkaJS's: `{ client: { requestTimeout: ... }, consumer: { heartbeatInterval: ... } }`.
 */
export async function startCook({ name, brokers, recipe, settings = {} }) {
  const kafka = new Kafka({ clientId: name, brokers, logLevel: logLevel.NOTHING, ...settings.client })
  let consumer, begun
  let open = true

  async function begin() {
    consumer = kafka.consumer({ groupId: 'kitchen', ...settings.consumer })
    // For KafkaJS an expelled member (UNKNOWN_MEMBER_ID) has crashed for good. The partition's new owner cooks the order again, and this
    // cook joins anew.
    consumer.on(consumer.events.CRASH, ({ payload }) => { if (open && !payload.restart) begun = begin() })
    await consumer.connect()
    await consumer.subscribe({ topic: 'orders', fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ topic, partition, message }) => {
        await recipe(message.value.toString())
        await consumer.commitOffsets([{ topic, partition, offset: String(BigInt(message.offset) + 1n) }])
      },
    })
  }

  async function stop() {
    open = false
    await begun
    await consumer.disconnect()
  }

  begun = begin()
  await begun
  return { stop }
}
