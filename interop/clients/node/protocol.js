// The command protocol of the client programs, for those in JavaScript; see
// ../python/protocol.py. Libraries are required from the folder that
// SKEIN_INTEROP_NODE names, which lies outside the source tree.
'use strict'

const fs = require('node:fs')
const path = require('node:path')
const readline = require('node:readline')
const { createRequire } = require('node:module')

const patience = 60_000 // ms without progress before a command gives up

const library = createRequire(path.join(process.env.SKEIN_INTEROP_NODE, 'package.json'))

// Lacks says that the client library does not know what was asked.
class Lacks extends Error {}

function readStream (name) {
  const b = fs.readFileSync(name)
  let at = 0
  const int = () => { at += 4; return b.readInt32BE(at - 4) }
  const bytes = () => {
    const size = int()
    if (size < 0) return null
    at += size
    return b.subarray(at - size, at)
  }
  const records = []
  while (at < b.length) {
    const partition = int()
    const timestamp = b.readBigInt64BE(at)
    at += 8
    const record = { partition, timestamp, key: bytes(), value: bytes(), headers: [] }
    const headers = int()
    for (let i = 0; i < headers; i++) record.headers.push([bytes().toString(), bytes()])
    records.push(record)
  }
  return records
}

function field (content) {
  const size = Buffer.alloc(4)
  if (content === null || content === undefined) {
    size.writeInt32BE(-1)
    return [size]
  }
  size.writeInt32BE(content.length)
  return [size, content]
}

function writeStream (name, records) {
  const parts = []
  for (const r of records) {
    const head = Buffer.alloc(12)
    head.writeInt32BE(r.partition)
    head.writeBigInt64BE(r.timestamp, 4)
    const count = Buffer.alloc(4)
    count.writeInt32BE(r.headers.length)
    parts.push(head, ...field(r.key), ...field(r.value), count)
    for (const [key, value] of r.headers) parts.push(...field(Buffer.from(key)), ...field(value))
  }
  fs.writeFileSync(name, Buffer.concat(parts))
}

// collector resolves when count records have been added, and fails after a
// time without progress.
function collector (count) {
  const records = []
  let settle, timer
  const done = new Promise((resolve, reject) => { settle = { resolve, reject } })
  const arm = () => {
    clearTimeout(timer)
    timer = setTimeout(() => settle.reject(new Error(`${records.length} of ${count} records after ${patience} ms without progress`)), patience)
  }
  arm()
  return {
    done: done.finally(() => clearTimeout(timer)),
    fail: problem => settle.reject(problem),
    add (record) {
      if (records.length >= count) return
      records.push(record)
      if (records.length === count) settle.resolve(records)
      else arm()
    }
  }
}

async function serve (verbs) {
  console.log = console.error // libraries may print
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [verb, ...args] = line.split('\t')
    let answer = 'ok'
    try {
      await verbs[verb](...args)
    } catch (problem) {
      const causes = [problem, ...(problem.errors ?? [])].map(p => p.message).join(': ')
      answer = (problem instanceof Lacks ? 'lacks ' : 'error ') + causes
    }
    process.stdout.write(answer.replace(/\s+/g, ' ') + '\n')
  }
  process.exit(0)
}

module.exports = { Lacks, collector, library, readStream, serve, writeStream }
