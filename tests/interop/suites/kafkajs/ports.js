// For KafkaJS's own suite: its tests dial localhost:9092, 9095 and 9098; the nodes of KAFKA_BOOTSTRAP stand there.
const net = require('net')

const nodes = process.env.KAFKA_BOOTSTRAP.split(',').map(each => Number(each.split(':')[1]))
const stands = new Map([9092, 9095, 9098].map((port, at) => [port, nodes[at % nodes.length]]))
const connect = net.connect

net.connect = (options, ...rest) =>
  connect(stands.has(options.port) ? { ...options, host: '127.0.0.1', port: stands.get(options.port) } : options, ...rest)
