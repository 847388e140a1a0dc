// Package storage keeps one partition's log in one directory, in Apache Kafka's
// own file formats: batches in segments (.log), an offset index and a time index
// for each, aborted transactions (.txnindex), what is known of producers
// (.snapshot) and where each leader epoch began (leader-epoch-checkpoint). The
// pages of docs/format describe the bytes; Kafka's DumpLogSegments reads them.
//
// Its place in the journey of a record: the partition has validated the batch and
// given it its offsets; the committer calls [Log.Write], which puts it at the end
// of the active segment, and [Log.Sync] when it must be on the disk; a fetch calls
// [Log.Read] and sends the [Slice] it gets straight from the file.
//
// One writer at a time writes, rolls, deletes and cleans; calls that change the
// list of segments wait for each other. Readers are never waited for and never
// wait: they work on an immutable list of segments, and a Slice stays readable
// when its segment is deleted meanwhile.
//
// What is durable when: Write reaches the page cache. Sync makes everything
// written before it durable, the rolled segments and their indexes first, and
// moves [Log.RecoveryPoint]. Everything that can be derived from the batches is
// written without a sync and rebuilt by [Open] when it is missing, old or
// damaged. Open cuts a torn tail, never anything else: see [Recovery].
package storage
