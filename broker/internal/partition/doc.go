// Package partition is a log that is served: it assigns offsets, knows how far readers may read, and wakes those who wait
// for more.
//
// Its place in the journey of a record: the Produce handler calls [Partition.Append]. The batch is validated outside any
// lock; then, under the partition's one mutex, its producer is checked, it gets its offsets, and it goes to the committer
// (skein.durability=always) or to the page cache at once (interval, os). When the committer says that it is durable, the
// high watermark moves over it, readers wake, and the Append's owner hears of it. A Fetch asks [Partition.Read], which
// never waits, and [Partition.Wait]s when there is too little.
//
// In mode always nothing above the durable offset is ever shown, so no reader sees what a power cut can take back. Between
// its offset and its durability a batch is pending: the producers table of the log does not know it yet, so an overlay
// does. When a commit fails, pending batches vanish, the next append takes their offsets, and all who waited are told.
//
// [Table] holds the partitions of all topics. It opens them after a start, brings the write-ahead log's frames into their
// segments, follows the catalog, and keeps house in one goroutine, [Table.Run]: retention, compaction, checkpoints, the
// disk reserve, removal of what was deleted.
package partition
