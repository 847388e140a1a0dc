// @platformatic/kafka. Its consumer streams need a group; its fetch call does
// not, and decodes the same way.
'use strict'

const { Lacks, collector, library, readStream, serve, writeStream } = require('./protocol.js')

const { Consumer, Producer, compressionsAlgorithms } = library('@platformatic/kafka')

async function produce (bootstrap, topic, codec, file) {
  if (!compressionsAlgorithms[codec]?.available) throw new Lacks(`no ${codec} on Node ${process.versions.node}`)
  const producer = new Producer({
    clientId: 'interop',
    bootstrapBrokers: [bootstrap],
    idempotent: true,
    compression: codec,
    retries: 3
  })
  try {
    const messages = readStream(file).map(r => ({
      topic,
      partition: r.partition,
      timestamp: r.timestamp < 0n ? undefined : r.timestamp,
      key: r.key ?? undefined,
      value: r.value ?? undefined,
      headers: new Map(r.headers.map(([name, value]) => [Buffer.from(name), value]))
    }))
    for (const batch of batches(messages)) await producer.send({ messages: batch })
  } finally {
    await producer.close()
  }
}

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

async function consume (bootstrap, topic, count, file) {
  const consumer = new Consumer({ clientId: 'interop', groupId: 'unused', bootstrapBrokers: [bootstrap], retries: 1, retryDelay: 20 })
  const got = collector(Number(count))
  got.done.catch(() => {})
  try {
    const { topics } = await consumer.metadata({ topics: [topic] })
    const { id, partitions } = topics.get(topic)
    const next = partitions.map(() => 0n)
    let missing = Number(count)
    while (missing > 0) {
      missing -= await fetchOnce(consumer, id, partitions[0].leader, next, got)
    }
    writeStream(file, await got.done)
  } catch (problem) {
    if (/zstd is not supported/.test(problem.message)) throw new Lacks(problem.message)
    if (trapped(problem)) throw new Lacks('its snappy decoder traps on the xerial framing that Java writes')
    throw problem
  } finally {
    await consumer.close(true)
  }
}

const trapped = problem => [problem, ...(problem.errors ?? [])].some(p => p.message === 'unreachable')

// fetchOnce reads on from the offsets in next, which it moves.
async function fetchOnce (consumer, topicId, node, next, got) {
  const answer = await consumer.fetch({
    node,
    minBytes: 1,
    maxBytes: 16 << 20,
    maxWaitTime: 50,
    topics: [{
      topicId,
      partitions: next.map((offset, partition) => (
        { partition, fetchOffset: offset, currentLeaderEpoch: -1, lastFetchedEpoch: -1, partitionMaxBytes: 4 << 20 }))
    }]
  })
  let count = 0
  for (const p of answer.responses.flatMap(t => t.partitions)) {
    for (const batch of p.records ?? []) {
      for (const r of batch.records) {
        if (batch.firstOffset + BigInt(r.offsetDelta) < next[p.partitionIndex]) continue
        got.add({ partition: p.partitionIndex, timestamp: batch.firstTimestamp + r.timestampDelta, key: r.key, value: r.value, headers: r.headers })
        count++
      }
      next[p.partitionIndex] = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n
    }
  }
  return count
}

serve({ produce, consume })
