// Package fence decides which transactional ids of a group's former members are fenced, and when: those that a roster misses, once each, tried
// again while that helps (docs/decision/0010-fencing-the-dead.md). It is a pure machine: rosters, answers and the clock go in, ids to fence
// come out.
package fence
