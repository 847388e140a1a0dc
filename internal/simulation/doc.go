// Package simulation is what simulations from a seed share: a clock that only events move, dice, a network that loses, repeats
// and delays, processes that freeze and end, coordinators whose decisions are told when they are on the disk, the language of
// scripts, and the search for a smaller one that fails in the same way.
//
// Nothing here knows what is simulated. Package groupsim of the consumer has groups on it, package eossim transactions besides.
// Two runs from one seed are the same to the last event: nothing follows from a map's order, and each place throws dice of its own.
package simulation
