package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/internal/vfs"
)

// kafkaFile is in every directory of an Apache Kafka broker.
const kafkaFile = "meta.properties"

var (
	errNoData = errors.New("this is no data directory of a broker")
	errKafka  = fmt.Errorf("this is the data directory of an Apache Kafka broker, which has %s in it, and is left alone: choose another", kafkaFile)
)

// catalogGone reports whether there is no catalog in dir though something there belongs to one, and what that is. The first
// start makes the catalog before anything else, durably, so a crash does not leave it so.
func catalogGone(files vfs.FS, dir string) (trace string, err error) {
	missing, err := catalog.Missing(files, filepath.Join(dir, catalogDir))
	if err != nil || !missing {
		return "", err
	}
	switch _, err := files.Stat(filepath.Join(dir, kafkaFile)); {
	case err == nil:
		return "", errKafka
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return partition.Trace(files, dir)
}

// mayFound refuses a directory in which a catalog would be founded beside what belongs to another one: its topics would be
// nobody's, what the write-ahead log has of them would be dropped, and the checkpoint files be emptied.
func mayFound(files vfs.FS, dir string) error {
	trace, err := catalogGone(files, dir)
	if err == nil && trace != "" {
		err = fmt.Errorf("the catalog in %s is missing, though %s is there: restore it from a copy, or see what `skein log repair` can tell of the topics",
			filepath.Join(dir, catalogDir), trace)
	}
	return err
}

// examinable reports whether the catalog of a data directory is gone. The error is about a directory that is none.
func examinable(files vfs.FS, dir string) (gone bool, err error) {
	trace, err := catalogGone(files, dir)
	if err != nil || trace != "" {
		return trace != "", err
	}
	if _, err = files.Stat(filepath.Join(dir, catalogDir)); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", errNoData, err)
	}
	return false, err
}
