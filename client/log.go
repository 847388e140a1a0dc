package client

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
)

// logger has franz-go's log in ours, where what it tells for information is for who looks for a fault: silence when all is well.
type logger struct{ to *slog.Logger }

// Level is the most that is wanted: franz-go does not make what is beyond it.
func (l logger) Level() kgo.LogLevel {
	for _, level := range []kgo.LogLevel{kgo.LogLevelDebug, kgo.LogLevelInfo, kgo.LogLevelWarn, kgo.LogLevelError} {
		if l.to.Enabled(context.Background(), slogLevel(level)) {
			return level
		}
	}
	return kgo.LogLevelNone
}

func (l logger) Log(level kgo.LogLevel, message string, keysAndValues ...any) {
	l.to.Log(context.Background(), slogLevel(level), message, keysAndValues...)
}

func slogLevel(level kgo.LogLevel) slog.Level {
	switch level {
	case kgo.LogLevelError:
		return slog.LevelError
	case kgo.LogLevelWarn:
		return slog.LevelWarn
	case kgo.LogLevelInfo:
		return slog.LevelDebug
	}
	return slog.LevelDebug - 4
}
