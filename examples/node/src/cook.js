import { Kafka, logLevel } from 'kafkajs'

/**
 * The service: cooks what is ordered, and commits each order when it is cooked, so that none is lost. Some are cooked twice.
 */
export async function startCook({ name, brokers, recipe, settings = {} }) {
  const { requestTimeout, ...consumerSettings } = settings
  const kafka = new Kafka({ clientId: name, brokers, requestTimeout, logLevel: logLevel.NOTHING })
  const retry = { restartOnFailure: async () => true } // else one UNKNOWN_MEMBER_ID ends the consumer for good, without a word to us
  const consumer = kafka.consumer({ groupId: 'kitchen', retry, ...consumerSettings })
  await consumer.connect()
  await consumer.subscribe({ topic: 'orders', fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, partition, message }) => {
      await recipe(message.value.toString())
      await commit({ topic, partition, offset: String(BigInt(message.offset) + 1n) })
    },
  })
  async function commit(next) {
    try {
      await consumer.commitOffsets([next])
    } catch (late) {
      // The group went on without us, and whoever has the partition now cooks the order again. KafkaJS joins again by itself.
      if (!['UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'REBALANCE_IN_PROGRESS'].includes(late.type)) throw late
    }
  }

  return { stop: () => consumer.disconnect() }
}
