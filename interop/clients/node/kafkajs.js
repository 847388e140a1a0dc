// kafkajs. It has gzip of its own; other codecs are plugged in by its users,
// here from the packages they commonly take.
'use strict'

const { Lacks, collector, library, readStream, serve, writeStream } = require('./protocol.js')

const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = library('kafkajs')

CompressionCodecs[CompressionTypes.Snappy] = library('kafkajs-snappy')

const lz4 = library('lz4-napi')
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: encoder => lz4.compressFrame(encoder.buffer),
  decompress: buffer => lz4.decompressFrame(buffer)
})

// lz4js writes frames with linked blocks, which Java cannot read.
const linked = library('lz4js')
const lz4linked = () => ({
  compress: async encoder => Buffer.from(linked.compress(encoder.buffer)),
  decompress: async buffer => Buffer.from(linked.decompress(buffer))
})

const { ZstdCodec } = library('zstd-codec')
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from((await zstd()).compress(encoder.buffer)),
  decompress: async buffer => Buffer.from((await zstd()).decompress(buffer))
})

let simple
const zstd = () => (simple ??= new Promise(resolve => ZstdCodec.run(z => resolve(new z.Streaming()))))

const codecs = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  'lz4-linked': CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD
}

const client = bootstrap => new Kafka({
  clientId: 'interop',
  brokers: [bootstrap],
  logLevel: logLevel.NOTHING,
  retry: { retries: 3 }
})

async function produce (bootstrap, topic, codec, file) {
  if (!(codec in codecs)) throw new Lacks(`no ${codec}`)
  const usual = CompressionCodecs[CompressionTypes.LZ4]
  if (codec === 'lz4-linked') CompressionCodecs[CompressionTypes.LZ4] = lz4linked
  const producer = client(bootstrap).producer({ idempotent: true, maxInFlightRequests: 1 })
  try {
    await producer.connect()
    const messages = readStream(file).map(r => ({
      partition: r.partition,
      timestamp: r.timestamp < 0n ? undefined : String(r.timestamp),
      key: r.key,
      value: r.value,
      headers: Object.fromEntries(r.headers)
    }))
    for (const batch of batches(messages)) {
      await producer.send({ topic, acks: -1, compression: codecs[codec], messages: batch })
    }
  } finally {
    CompressionCodecs[CompressionTypes.LZ4] = usual
    await producer.disconnect()
  }
}

// batches keeps each send below the broker's limit of one batch.
function * batches (messages) {
  let batch = []
  let size = 0
  for (const m of messages) {
    const bytes = (m.value?.length ?? 0) + (m.key?.length ?? 0) + 200
    if (batch.length > 0 && size + bytes > 900_000) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(m)
    size += bytes
  }
  if (batch.length > 0) yield batch
}

// consume needs a group: kafkajs has no consumer without one.
async function consume (bootstrap, topic, count, file) {
  const consumer = client(bootstrap).consumer({ groupId: `interop-${topic}`, maxWaitTimeInMs: 50 })
  const got = collector(Number(count))
  try {
    await consumer.connect()
    consumer.on(consumer.events.CRASH, e => got.fail(e.payload.error))
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ partition, message: m }) => got.add({
        partition,
        timestamp: BigInt(m.timestamp),
        key: m.key,
        value: m.value,
        headers: Object.entries(m.headers ?? {})
      })
    })
    writeStream(file, await got.done)
  } finally {
    await consumer.disconnect()
  }
}

serve({ produce, consume })
