package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/skeinstream/skein/internal/vfs"
)

// snapshotFile is the JSON of the one frame in the snapshot file: all that the log said up to a change.
type snapshotFile struct {
	Sequence       int64                        `json:"sequence"`
	Founded        Founded                      `json:"founded"`
	Starts         int32                        `json:"starts"`
	NextProducerID int64                        `json:"nextProducerId"`
	Topics         []*Topic                     `json:"topics"`
	DeletedTopics  []*Topic                     `json:"deletedTopics"`
	BrokerConfigs  map[string]map[string]string `json:"brokerConfigs"`
}

func writeSnapshot(fsys vfs.FS, dir string, s *Snapshot) error {
	content, err := appendFrame(appendHeader(nil, snapKind), snapshotFile{
		Sequence: s.sequence, Founded: s.founded, Starts: s.starts, NextProducerID: s.producerIDs,
		Topics: s.topics, DeletedTopics: s.deleted, BrokerConfigs: s.configs,
	})
	if err != nil {
		return err
	}
	return writeWhole(fsys, dir, snapName, content)
}

// readSnapshot returns what the snapshot file says, or an empty snapshot when there is none.
func readSnapshot(fsys vfs.FS, name string) (*Snapshot, error) {
	content, err := vfs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return emptySnapshot(), nil
	}
	if err != nil {
		return nil, err
	}
	f, err := parseSnapshot(content)
	if err != nil {
		return nil, &DamageError{File: name, Reason: err.Error(), later: errors.Is(err, errVersion)}
	}
	s := &Snapshot{
		sequence: f.Sequence, founded: f.Founded, starts: f.Starts, producerIDs: f.NextProducerID,
		topics: f.Topics, deleted: f.DeletedTopics, configs: f.BrokerConfigs, byID: map[ID]*Topic{},
	}
	for _, t := range s.topics {
		s.byID[t.ID] = t
	}
	return s, nil
}

func parseSnapshot(content []byte) (f snapshotFile, err error) {
	rest, err := checkHeader(content, snapKind)
	if err != nil {
		return f, err
	}
	body, rest, whole := cutFrame(rest)
	if !whole || len(rest) > 0 {
		return f, fmt.Errorf("it is not one whole frame")
	}
	return f, json.Unmarshal(body, &f)
}
