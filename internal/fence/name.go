package fence

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// Secret is how many random bytes tell the processes of a group apart that have no name.
const Secret = 16

const (
	// named begins what a process with a name publishes.
	named = 1
	// longest is how long a name may be that is published (internal/roster).
	longest = 63
)

// Publish is what a process publishes whose transactional id somebody has chosen: what follows the group's name and '-' in it, so that Name finds
// it again. Another id is not published, since nobody is to have producers outside of the group fenced by what it says: {0}, which is no name, has
// the process be told of the others all the same.
func Publish(group, id string) []byte {
	if name, ok := strings.CutPrefix(id, group+"-"); ok && len(name) <= longest {
		published := append([]byte{named}, name...)
		if short := Secret + 1 - len(published); short > 0 { // what has as many bytes as a secret is one
			published = append(published, make([]byte, short)...)
		}
		if Name(group, published) == id {
			return published
		}
	}
	return []byte{0}
}

// Name is the transactional id of the process of a group that publishes some bytes; "" if they are not what such a process publishes. It
// begins with the group, so that nothing that one says can have the producer of any other fenced.
func Name(group string, published []byte) string {
	switch {
	case len(published) == Secret:
		return group + "-" + hex.EncodeToString(published)
	case len(published) < Secret || published[0] != named:
		return ""
	}
	name := bytes.TrimRight(published[1:], "\x00")
	if len(name) == 0 {
		return ""
	}
	return Named(group, string(name))
}

// Named is the transactional id of a process with a name.
func Named(group, name string) string { return group + "-" + name }
