package api

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/catalog"
)

// topicNameMax is the longest topic name, in bytes: directories are named after topics.
const topicNameMax = 249

// checkTopicName refuses what Kafka refuses as the name of a topic.
func checkTopicName(name string) refusal {
	const prefix = "Topic name is invalid: "
	switch {
	case name == "":
		return refuse(kerr.InvalidTopicException, prefix+"the empty string is not allowed")
	case name == "." || name == "..":
		return refuse(kerr.InvalidTopicException, prefix+"'%s' is not allowed", name)
	case len(name) > topicNameMax:
		return refuse(kerr.InvalidTopicException, prefix+"the length of '%s' is longer than the max allowed length %d", name, topicNameMax)
	case strings.ContainsFunc(name, notInTopicName):
		return refuse(kerr.InvalidTopicException, prefix+"'%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
	default:
		return refusal{}
	}
}

func notInTopicName(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !letter && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
}

// internalTopic reports whether a topic of this name holds the state of coordinators.
func internalTopic(name string) bool {
	return name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state"
}

// collisions finds topics whose names differ only in '.' and '_'. Metric names write both as '_', so Kafka lets no two
// such topics exist.
type collisions struct {
	snapshot *catalog.Snapshot
	byName   map[string]string // made at the first question
}

// with returns the existing topic that name collides with, or "".
func (c *collisions) with(name string) string {
	if !strings.ContainsAny(name, "._") {
		return ""
	}
	if c.byName == nil {
		c.byName = map[string]string{}
		for _, t := range c.snapshot.Topics() {
			if strings.ContainsAny(t.Name, "._") {
				c.byName[unified(t.Name)] = t.Name
			}
		}
	}
	return c.byName[unified(name)]
}

func unified(name string) string { return strings.ReplaceAll(name, ".", "_") }
