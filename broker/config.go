package broker

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"time"

	"github.com/skeinstream/skein/internal/settings"
	"github.com/skeinstream/skein/internal/vfs"
)

// Config says how a broker runs. The zero value runs: in memory, with the
// default of every setting.
type Config struct {
	// Dir is the data directory, made when it is missing. One broker at a time
	// may use it. Empty keeps everything in memory, gone with the broker.
	Dir string
	// Settings are broker settings by their names, as in Kafka's
	// server.properties ("num.partitions": "6"). An unknown name or a wrong
	// value is an error of Open that names the nearest right one. The reference
	// is docs/reference/settings.md. "log.dirs" is set by Dir.
	Settings map[string]string
	// Logger hears of changes of state; silence means that all is well. Nil
	// discards.
	Logger *slog.Logger
	// Profiles adds /debug/pprof to what ServeMonitor serves: it shows memory
	// and costs time, so it is not for everybody.
	Profiles bool

	// files replaces the disk; now and random replace the clock and the source
	// of ids. Tests of this package set them.
	files  vfs.FS
	now    func() time.Time
	random io.Reader
}

// withDefaults fills in what was left zero.
func (c Config) withDefaults() Config {
	if c.files == nil {
		c.files = diskOrMemory(c.Dir)
	}
	if c.Dir == "" {
		c.Dir = "memory"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.random == nil {
		c.random = rand.Reader
	}
	return c
}

func diskOrMemory(dir string) vfs.FS {
	if dir == "" {
		return vfs.NewMemory()
	}
	return vfs.Disk()
}

// static are the settings that the operator gave, checked.
func (c Config) static() (map[string]string, error) {
	static := maps.Clone(c.Settings)
	if static == nil {
		static = map[string]string{}
	}
	if given, ok := static["log.dirs"]; ok && given != c.Dir {
		return nil, fmt.Errorf("setting log.dirs to %q: the data directory is %q, given as Config.Dir", given, c.Dir)
	}
	static["log.dirs"] = c.Dir
	if err := settings.CheckBroker(static); err != nil {
		return nil, fmt.Errorf("checking the broker's settings: %w", err)
	}
	return static, nil
}
