// Package transport is a model of the transactional producer of franz-go v1.22, which our producer sends with: its producer id and
// what makes it invalid, partitions that are added before they are written to, batches with sequences that are sent again until
// they are answered, and EndTransaction with all that it does when it is not sure.
//
// It is as exact as what is decided above it can notice. What it leaves out: linger, several requests at a time, records
// that expire.
package transport
