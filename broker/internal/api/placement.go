package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Where the replicas of partitions go. With one broker there is one answer, but clients may still spell it out, and
// must be told when they ask for more than there is.

// place returns how many partitions a new topic gets.
func (c *creation) place(t kmsg.CreateTopicsRequestTopic) (int32, refusal) {
	if len(t.ReplicaAssignment) > 0 {
		return c.placeByHand(t)
	}
	factor, partitions := t.ReplicationFactor, t.NumPartitions
	switch {
	case factor < -1 || factor == 0:
		return 0, refuse(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case partitions < -1 || partitions == 0:
		return 0, refuse(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	if factor == -1 {
		factor = c.broker.DefaultReplicationFactor
	}
	if partitions == -1 {
		partitions = c.broker.NumPartitions
	}
	if factor > 1 {
		return 0, refuse(kerr.InvalidReplicationFactor,
			"Unable to replicate the partition %d time(s): there is only 1 broker.", factor)
	}
	return partitions, refusal{}
}

// placeByHand checks an assignment that the client made.
func (c *creation) placeByHand(t kmsg.CreateTopicsRequestTopic) (int32, refusal) {
	switch {
	case t.ReplicationFactor != -1:
		return 0, refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	case t.NumPartitions != -1:
		return 0, refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	assigned := map[int32]bool{}
	for _, a := range t.ReplicaAssignment {
		if assigned[a.Partition] {
			return 0, refuse(kerr.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", a.Partition)
		}
		if f := checkReplicas(c.nodeID, a.Replicas); f.code != 0 {
			return 0, f
		}
		assigned[a.Partition] = true
	}
	for i := range int32(len(assigned)) {
		if !assigned[i] {
			return 0, refuse(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
	}
	return int32(len(assigned)), refusal{}
}

// checkReplicas allows the list of this one broker.
func checkReplicas(nodeID int32, replicas []int32) refusal {
	if len(replicas) == 0 {
		return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	for i, r := range replicas {
		switch {
		case r != nodeID:
			return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", r)
		case i > 0:
			return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", r)
		}
	}
	return refusal{}
}
