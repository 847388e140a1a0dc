// Package monitor shows a running broker to the outside: metrics for Prometheus, whether it is alive and ready, and
// profiles. It stands beside the journey of a request: the other rooms report through their event structs, which the
// broker wires to the methods of a Monitor, and know nothing of it.
//
// What happens for every request is counted in atomic counters that a scrape reads; what can be asked for (sizes of logs,
// memory in use) is asked for at the scrape. Nothing is registered globally: each broker of a process has its own Monitor.
package monitor
