// Package fleet has, for tests, the programs that the members of a group may run before, while and after they are moved to exactly-once
// processing, the networks by which such a member is cut off from everybody else, and the judge of what all of them have made together.
// Each copies the records of one topic to another, one by one.
package fleet
