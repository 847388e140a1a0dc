package fence

import "encoding/hex"

// Secret is how many random bytes tell the processes of a group apart.
const Secret = 16

// Name is the transactional id of the process of a group that publishes some bytes; "" if they are not what such a process publishes. The
// group is in it, so that nothing that one says can have the producer of another group fenced; and its length is fixed, so that no group's name
// and a longer one's give the same.
func Name(group string, published []byte) string {
	if len(published) != Secret {
		return ""
	}
	return group + "-" + hex.EncodeToString(published)
}
