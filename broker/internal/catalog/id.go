package catalog

import (
	"encoding/base64"
	"fmt"
	"io"
)

// ID names a topic, the cluster or the data directory for ever: no two get the same one, also after a deletion.
type ID [16]byte

// String returns the form that Kafka's tools print and read: 22 characters of base64 for URLs.
func (id ID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// MarshalText makes JSON hold the form of String.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the form of String.
func (id *ID) UnmarshalText(text []byte) error {
	b, err := base64.RawURLEncoding.DecodeString(string(text))
	if err != nil || len(b) != len(id) {
		return fmt.Errorf("%q is not an id of 22 characters", text)
	}
	copy(id[:], b)
	return nil
}

// newID makes a random UUID (version 4). Like Kafka, it passes over ids that begin with a dash, which command lines
// would take for an option.
func newID(random io.Reader) (ID, error) {
	for {
		var id ID
		if _, err := io.ReadFull(random, id[:]); err != nil {
			return ID{}, fmt.Errorf("making an id: %w", err)
		}
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if id.String()[0] != '-' {
			return id, nil
		}
	}
}
