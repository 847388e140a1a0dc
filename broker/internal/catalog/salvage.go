package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"

	"github.com/skeinstream/skein/internal/vfs"
)

// A catalog with damage does not open, since nobody can tell what the damaged changes said. A salvage reads on behind them:
// a record says what is so from now on, whatever was before, so those that still make sense hold. What does not, such as
// more partitions of a topic whose making is lost, is passed over and told.

// Damage is bytes of a file of the catalog that cannot be read.
type Damage struct {
	File            string
	Position, Bytes int64
	Reason          string
}

// Salvage is what can be read of a catalog that nobody has open.
type Salvage struct {
	Snapshot *Snapshot
	Damage   []Damage // none: the catalog opens, and this is what it has
	Lost     int64    // how many changes cannot be read, as far as anybody knows
	Unknown  bool     // nobody knows how many more are lost
	Passed   []string // what stands behind the damage and does not follow from what can be read, in words

	draft draft
}

// Examine reads what it can of the catalog in dir, and changes nothing. What a later version of the program has written is
// an error, no damage.
func Examine(fsys vfs.FS, dir string) (*Salvage, error) {
	x := &Salvage{draft: draft{Snapshot: *emptySnapshot()}}
	known, err := x.readSnapshot(fsys, path.Join(dir, snapName))
	if err == nil {
		err = x.readLog(fsys, path.Join(dir, logName), known)
	}
	if err != nil {
		return nil, fmt.Errorf("examining the catalog in %s: %w", dir, err)
	}
	x.Snapshot = &x.draft.Snapshot
	return x, nil
}

// readSnapshot begins with the snapshot file, if there is one, which is the answer.
func (x *Salvage) readSnapshot(fsys vfs.FS, name string) (known bool, err error) {
	s, err := readSnapshot(fsys, name)
	damage, damaged := errors.AsType[*DamageError](err)
	switch {
	case damaged && damage.later:
		return false, err
	case damaged:
		x.damage(name, 0, 0, damage.Reason+": all changes up to it are lost, and those behind it are in the log")
		x.Unknown = true
		return true, nil
	case err != nil:
		return false, err
	}
	x.draft = draft{Snapshot: *s}
	return s.sequence > 0, nil
}

func (x *Salvage) damage(file string, position, n int64, reason string) {
	x.Damage = append(x.Damage, Damage{file, position, n, reason})
}

// readLog goes on with the log, which must be there beside a snapshot.
func (x *Salvage) readLog(fsys vfs.FS, name string, must bool) error {
	content, err := vfs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		if must {
			x.damage(name, 0, 0, "it is missing: the changes after the snapshot are lost")
			x.Unknown = true
		}
		return nil
	}
	if err != nil {
		return err
	}
	rest, err := checkHeader(content, logKind)
	if errors.Is(err, errVersion) {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err != nil {
		rest = content
		if i := bytes.Index(content, frameMagic); i >= 0 {
			rest = content[i:]
		}
		x.damage(name, 0, int64(len(content)-len(rest)), err.Error())
	}
	return x.replay(name, content, rest)
}

// replay applies the frames in rest, the end of the content of the file.
func (x *Salvage) replay(name string, content, rest []byte) error {
	for len(rest) > 0 {
		at := int64(len(content) - len(rest))
		body, behind, whole := cutFrame(rest)
		if whole {
			if err := x.replayFrame(name, at, body); err != nil {
				return err
			}
			rest = behind
			continue
		}
		if torn(rest) {
			return nil
		}
		next := nextFrame(rest)
		x.damage(name, at, int64(len(rest)-len(next)), "a frame is not whole, and more follows it")
		if len(next) == 0 {
			x.Lost += int64(bytes.Count(rest, frameMagic)) + 1
		}
		rest = next
	}
	return nil
}

// nextFrame is what is left of b from the next whole frame on.
func nextFrame(b []byte) []byte {
	for b = b[1:]; ; b = b[1:] {
		i := bytes.Index(b, frameMagic)
		if i < 0 {
			return nil
		}
		b = b[i:]
		if _, _, whole := cutFrame(b); whole {
			return b
		}
	}
}

// replayFrame applies one change, as far as it makes sense after those that are lost.
func (x *Salvage) replayFrame(name string, at int64, body []byte) error {
	var c change
	if err := json.Unmarshal(body, &c); err != nil {
		x.damage(name, at, int64(len(body)), "a whole frame cannot be read: "+err.Error())
		x.Lost++
		return nil
	}
	before := x.draft.sequence
	if c.Sequence <= before {
		return nil
	}
	if missing := c.Sequence - before - 1; missing > 0 {
		if len(x.Damage) == 0 {
			x.damage(name, at, 0, fmt.Sprintf("change %d follows change %d", c.Sequence, before))
		}
		x.Lost += missing
		x.Unknown = x.Unknown && before > 0 // else this is how much it was
	}
	x.draft.sequence = c.Sequence
	for _, r := range c.Records {
		if err := x.apply(name, at, r); err != nil {
			return fmt.Errorf("%s at byte %d: change %d: %w", name, at, c.Sequence, err)
		}
	}
	return nil
}

// apply applies one record. Its error is of one that a later version has written.
func (x *Salvage) apply(name string, at int64, r Record) error {
	if made := r.TopicCreated; made != nil && x.lossy() {
		if was := x.draft.Topic(made.Name); was != nil && was.ID != made.ID { // its deletion is among what is lost
			_ = x.draft.apply(Record{TopicDeleted: &TopicDeleted{ID: was.ID}})
		}
	}
	err := x.draft.apply(r)
	switch {
	case errors.Is(err, errKind):
		return err
	case err == nil:
	case len(x.Damage) == 0:
		x.damage(name, at, 0, err.Error())
		fallthrough
	default:
		x.Passed = append(x.Passed, err.Error())
	}
	return nil
}

// lossy reports whether anything is lost.
func (x *Salvage) lossy() bool { return x.Lost > 0 || x.Unknown }

// producerIDsLost is more producer ids than may have been handed out by changes that are lost.
const producerIDsLost = 1 << 40

// startsLost bounds how many of the lost changes are taken for starts.
const startsLost = 1 << 20

// Fences are records that keep from being given twice what lost changes have given: leader epochs, of which the logs have
// those up to epoch, and producer ids. There are none when nothing is lost.
func (x *Salvage) Fences(epoch int32) []Record {
	if !x.lossy() {
		return nil
	}
	lost := min(x.Lost, startsLost)
	if x.Unknown {
		lost = startsLost
	}
	starts := int32(min(max(int64(x.Snapshot.starts), int64(epoch))+lost, math.MaxInt32-startsLost))
	return []Record{
		{Started: &Started{Count: starts}},
		{ProducerIDsSet: &ProducerIDsSet{Next: x.Snapshot.producerIDs + producerIDsLost}},
	}
}

// Repair writes what could be read, and these records with it, as a catalog that opens, and makes that the snapshot. Copies
// of the files that are replaced are saved beside them before, as .damaged. It may be repeated after a crash or an error.
func (x *Salvage) Repair(fsys vfs.FS, dir string, also ...Record) error {
	s, err := x.Snapshot.applyAll(also...)
	if err == nil {
		err = rewrite(fsys, dir, s)
	}
	if err != nil {
		return fmt.Errorf("repairing the catalog in %s: %w", dir, err)
	}
	x.Snapshot = s
	return nil
}

// rewrite puts s into the snapshot file and empties the log. A crash between the two leaves changes in the log that the
// snapshot has.
func rewrite(fsys vfs.FS, dir string, s *Snapshot) error {
	if err := makeDir(fsys, dir); err != nil {
		return err
	}
	for _, name := range []string{snapName, logName} {
		if _, err := vfs.SaveAside(fsys, path.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := writeSnapshot(fsys, dir, s); err != nil {
		return err
	}
	return writeWhole(fsys, dir, logName, appendHeader(nil, logKind))
}

// Gone is the salvage of a catalog in dir that is missing though there was one.
func Gone(dir string) *Salvage {
	x := &Salvage{Snapshot: emptySnapshot(), Unknown: true}
	x.damage(path.Join(dir, logName), 0, 0, "it is missing: all that was known of topics and settings is lost")
	return x
}
