package partition

import (
	"github.com/skeinstream/skein/broker/internal/record"
	"github.com/skeinstream/skein/broker/internal/storage"
	"github.com/skeinstream/skein/internal/settings"
)

// rulesOf are the rules of a topic for what is produced to it. The clock is still missing.
func rulesOf(t *settings.Topic) record.Rules {
	return record.Rules{
		MaxBytes:      t.MaxMessageBytes,
		SegmentBytes:  t.SegmentBytes,
		RecordMax:     t.MaxDecompressedBytes,
		Compacted:     t.Compact,
		BeforeMaxMs:   t.TimestampBeforeMaxMs,
		AfterMaxMs:    t.TimestampAfterMaxMs,
		LogAppendTime: t.LogAppendTime,
		Target:        targetOf(t),
		HeaderOnly:    !t.ValidateFull,
	}
}

func targetOf(t *settings.Topic) record.Target {
	codec, ok := record.ParseCodec(t.CompressionType)
	if !ok { // producer
		return record.Target{}
	}
	return record.Target{Recode: true, Codec: codec, Level: t.CompressionLevel}
}

// storageOf is how the log of a topic's partition is kept.
func storageOf(t *settings.Topic) storage.Config {
	return storage.Config{
		SegmentBytes:       int64(t.SegmentBytes),
		SegmentMs:          t.SegmentMs,
		SegmentJitterMs:    t.SegmentJitterMs,
		IndexBytes:         int64(t.SegmentIndexBytes),
		IndexInterval:      int64(t.IndexIntervalBytes),
		Delete:             t.Delete,
		Compact:            t.Compact,
		RetentionMs:        t.RetentionMs,
		RetentionBytes:     t.RetentionBytes,
		FileDeleteDelayMs:  t.FileDeleteDelayMs,
		MinCompactionLagMs: t.MinCompactionLagMs,
		MaxCompactionLagMs: t.MaxCompactionLagMs,
		DeleteRetentionMs:  t.DeleteRetentionMs,
	}
}
