// What group members in JavaScript share: see internal/member for what they
// say.
'use strict'

const { performance } = require('node:perf_hooks')

const commitEvery = 200 // ms

const [bootstrap, group, topic, client, assignor, instance, session, heartbeat] = process.argv.slice(2)
const args = {
  bootstrap, group, topic, client, assignor, instance: instance === '-' ? undefined : instance, session: Number(session), heartbeat: Number(heartbeat)
}

const log = (...what) => process.stderr.write(what.join(' ') + '\n')
console.log = log // libraries may print

function out (text) {
  const stamp = Math.round((performance.timeOrigin + performance.now()) * 1000)
  require('node:fs').writeSync(1, `${stamp} ${text.replace(/\s+/g, ' ')}\n`)
}

function say (kind, partitions) {
  if (partitions.length > 0) out(`${kind} ${partitions.join(',')}`)
}

const handled = (partition, first, last, count) => out(`handled ${partition} ${first} ${last} ${count}`)

function failed (problem) {
  log(problem.stack ?? problem)
  const causes = [problem, ...(problem.errors ?? [])].map(p => p.message).join(': ')
  out('failed ' + causes)
  process.exit(1)
}

process.on('unhandledRejection', failed)

// atTheEnd calls stop when standard input ends.
function atTheEnd (stop) {
  process.stdin.on('end', stop)
  process.stdin.resume()
}

module.exports = { args, atTheEnd, commitEvery, failed, handled, log, out, say }
