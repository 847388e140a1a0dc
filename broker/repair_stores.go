package broker

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/internal/vfs"
)

// notesMax bounds what a report says of each kind of thing.
const notesMax = 20

// examineCatalog reports a catalog that does not open, or that lacks topics whose directories are there, and returns what
// it has, nil when it cannot be read. It is gone when it is missing though there was one.
func examineCatalog(fs vfs.FS, dir string, gone, repair bool, report func(LogReport)) *catalog.Snapshot {
	r := LogReport{Partition: Catalog}
	x, err := salvageCatalog(fs, filepath.Join(dir, catalogDir), gone)
	if err != nil {
		r.Err, r.Offline = err, true
		if repair {
			r.Notes = append(r.Notes, "nothing is repaired before it can be read")
		}
		report(r)
		return nil
	}
	unknown, epoch, err := partition.FindUnknown(fs, dir, x.Snapshot)
	damaged := len(x.Damage) > 0
	r.Err, r.Lost, r.Offline = err, damaged, damaged
	for _, d := range x.Damage {
		r.Damage = append(r.Damage, LogDamage{File: d.File, Position: d.Position, Bytes: d.Bytes, Reason: d.Reason})
	}
	if repair && damaged && err == nil {
		r.Err = x.Repair(fs, filepath.Join(dir, catalogDir), append(x.Fences(epoch), adopt(unknown)...)...)
		r.Repaired = r.Err == nil
		r.Lost, r.Offline = !r.Repaired, !r.Repaired
	}
	r.Notes = append(lossNotes(x), unknownNotes(unknown, damaged)...)
	if damaged || len(r.Notes) > 0 || r.Err != nil {
		report(r)
	}
	return x.Snapshot
}

func salvageCatalog(fs vfs.FS, dir string, gone bool) (*catalog.Salvage, error) {
	if gone {
		return catalog.Gone(dir), nil
	}
	return catalog.Examine(fs, dir)
}

// adopt makes topics known again that a damaged catalog has lost. Their settings are lost too, so they get some under which
// nothing of them is deleted until somebody has set them.
func adopt(unknown []partition.Unknown) (records []catalog.Record) {
	for _, u := range unknown {
		switch {
		case u.Taken:
		case u.Known:
			records = append(records, catalog.Record{PartitionsSet: &catalog.PartitionsSet{ID: u.ID, Partitions: u.Partitions}})
		default:
			records = append(records, catalog.Record{TopicCreated: adopted(u)})
		}
	}
	return records
}

func adopted(u partition.Unknown) *catalog.Topic {
	t := &catalog.Topic{ID: u.ID, Name: u.Name, Partitions: u.Partitions, CreatedMs: u.MadeMs}
	switch u.Name {
	case "__consumer_offsets", "__transaction_state": // coordinators keep what they need in the newest record of each key
		t.Internal, t.Configs = true, map[string]string{"cleanup.policy": "compact"}
	default:
		t.Configs = map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
	}
	return t
}

// lossNotes tell what is lost of the catalog.
func lossNotes(x *catalog.Salvage) (notes []string) {
	switch {
	case x.Unknown:
		notes = append(notes, "nobody knows how many changes of topics and settings are lost: look at the topics and their settings, since older ones may hold")
	case x.Lost > 0:
		notes = append(notes, fmt.Sprintf("about %d changes of topics and settings are lost: look at the settings of topics, since older ones may hold", x.Lost))
	}
	for _, passed := range x.Passed {
		notes = append(notes, "passed over, since it follows from a change that is lost: "+passed)
	}
	return bounded(notes)
}

// unknownNotes tell of topics that the catalog does not know, and what becomes of them.
func unknownNotes(unknown []partition.Unknown, damaged bool) (notes []string) {
	for _, u := range unknown {
		is := fmt.Sprintf("topic %s, id %s, has directories up to partition %d that the catalog does not know", u.Name, u.ID, u.Partitions-1)
		switch {
		case u.Taken:
			is += "; the next start puts them aside, as …-stray, where they are in the place of another topic of the name"
		case !damaged:
			is += "; they are left alone"
		case u.Known:
			is += "; a repair makes them known again"
		default:
			is += "; a repair makes it known again without its settings, and until they are set nothing of it is deleted"
		}
		notes = append(notes, is)
	}
	return bounded(notes)
}

func bounded(notes []string) []string {
	if more := len(notes) - notesMax; more > 0 {
		notes = append(notes[:notesMax:notesMax], fmt.Sprintf("and %d more like these", more))
	}
	return notes
}

// examineWAL reports a write-ahead log with damage, and whether it could be read.
func examineWAL(ctx context.Context, fs vfs.FS, dir string, repair bool, known *catalog.Snapshot, report func(LogReport)) bool {
	r := LogReport{Partition: WriteAheadLog}
	damage, err := partition.ExamineWAL(ctx, fs, dir, repair)
	if err == nil && len(damage) == 0 {
		return true
	}
	for _, d := range damage {
		r.Damage = append(r.Damage, LogDamage{File: d.File, Position: d.Position, Bytes: d.Bytes, Reason: d.Reason})
	}
	r.Err, r.Repaired = err, repair && err == nil
	r.Lost, r.Offline = !r.Repaired, !r.Repaired
	r.Notes = frameNotes(damage, known)
	report(r)
	return err == nil
}

// examineCheckpoints reports checkpoint files that cannot be read. They go after the logs have been repaired, which without
// them need it more.
func examineCheckpoints(fs vfs.FS, dir string, repair bool, report func(LogReport)) {
	r := LogReport{Partition: Checkpoints}
	damage, err := partition.ExamineCheckpoints(fs, dir, repair)
	if err == nil && len(damage) == 0 {
		return
	}
	for _, d := range damage {
		r.Damage = append(r.Damage, LogDamage{File: d.File, Reason: d.Reason.Error()})
		r.Notes = append(r.Notes, d.Means)
	}
	r.Err, r.Repaired = err, repair && err == nil
	r.Lost, r.Offline = !r.Repaired, !r.Repaired
	report(r)
}

// frameNotes tell what is lost of a write-ahead log, by partition as far as anybody knows.
func frameNotes(damage []commit.Damage, known *catalog.Snapshot) (notes []string) {
	var frames, named uint64
	for _, d := range damage {
		frames += d.Frames
		named += uint64(len(d.Lost))
		if d.Unknown {
			notes = append(notes, fmt.Sprintf("what was written to %s is lost if its segments do not have it, and nobody can tell of which partitions that was", d.File))
		}
		for _, l := range d.Lost {
			notes = append(notes, fmt.Sprintf("offsets %d to %d of %s are lost if its segments do not have them, and then a line of its own says so",
				l.Base, l.Last, nameOf(known, l.Key)))
		}
	}
	notes = bounded(notes)
	if frames > named {
		notes = append(notes, fmt.Sprintf("up to %d writes are lost of which nobody can tell the partition, if its segments do not have them: after a kill they have, after a power cut they may not", frames-named))
	}
	return notes
}

// nameOf is how people call a partition, as far as the catalog knows its topic.
func nameOf(known *catalog.Snapshot, k commit.Key) string {
	topic := "topic " + catalog.ID(k.Topic).String()
	if known != nil {
		if t := known.TopicByID(k.Topic); t != nil {
			topic = t.Name
		}
	}
	return fmt.Sprintf("%s-%d", topic, k.Partition)
}
