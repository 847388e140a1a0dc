package api

// Authorized operations are a bit for each operation of Kafka's access control. Without access control everything is
// allowed that makes sense on the resource; these are the sets that Kafka answers then.
const (
	topicOperations   = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11 // read … alter configs
	clusterOperations = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12       // create … idempotent write
	groupOperations   = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11                      // read, delete, describe, their configs
)
