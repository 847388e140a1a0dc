package storage

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Suffixes of Kafka's files. A segment's files share the base offset, twenty
// digits, as their name.
const (
	logSuffix      = ".log"
	indexSuffix    = ".index"
	timeSuffix     = ".timeindex"
	abortedSuffix  = ".txnindex"
	snapshotSuffix = ".snapshot"

	cleanedSuffix = ".cleaned" // a cleaned segment that is still being written
	swapSuffix    = ".swap"    // one that is complete and takes the place of others
	deletedSuffix = ".deleted" // one that is removed after file.delete.delay.ms

	epochsName = "leader-epoch-checkpoint"
	boundsName = "skein-bounds" // Kafka passes over it
	tmpSuffix  = ".tmp"
)

// segmentSuffixes are the files that go where their segment goes.
var segmentSuffixes = [...]string{logSuffix, indexSuffix, timeSuffix, abortedSuffix}

// fileName is the path of one file of the segment or snapshot at offset base.
func fileName(dir string, base int64, suffix string) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", base, suffix))
}

// parsed is a name of the form 00000000000000000042.log, possibly with one of
// the suffixes that mark a file's state behind it.
type parsed struct {
	name  string
	base  int64
	kind  string // ".log" and so on
	state string // "", cleanedSuffix, swapSuffix or deletedSuffix
}

func parseName(name string) (p parsed, ok bool) {
	p.name = name
	const digits = 20
	if len(name) <= digits || name[digits] != '.' {
		return p, false
	}
	base, err := strconv.ParseInt(name[:digits], 10, 64)
	if err != nil || base < 0 {
		return p, false
	}
	p.base, p.kind = base, name[digits:]
	if at := strings.LastIndexByte(p.kind, '.'); at > 0 {
		p.kind, p.state = p.kind[:at], p.kind[at:]
	}
	return p, knownKind(p.kind) && knownState(p.state)
}

func knownKind(kind string) bool {
	switch kind {
	case logSuffix, indexSuffix, timeSuffix, abortedSuffix, snapshotSuffix:
		return true
	}
	return false
}

func knownState(state string) bool {
	return state == "" || state == cleanedSuffix || state == swapSuffix || state == deletedSuffix
}
