package api

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/server"
)

// DescribeLogDirs (key 35): what is on the disk, and how much room is left.
//
// Version notes:
//   - 1 is the first that Kafka 4 serves, 2 is flexible
//   - 3 adds an error for the whole answer
//   - 4 adds the size of the volume and its usable bytes (KIP-827)
//   - 5 adds is_cordoned, which nothing here ever is
//
// There is one directory. A partition that is offline is listed as a directory of its own, with KAFKA_STORAGE_ERROR, since
// the answer has no other place to say so.

func describeLogDirsEntry() entry {
	return entry{key: 35, min: 1, max: 5, flexible: 2, serve: answers(kmsg.NewPtrDescribeLogDirsRequest, (*Handler).describeLogDirs)}
}

func (h *Handler) describeLogDirs(_ *server.Request, req *kmsg.DescribeLogDirsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = absolute(h.Table.Dir())
	if space, err := h.Table.Space(); err == nil {
		dir.TotalBytes, dir.UsableBytes = space.Total, space.Free
	}
	var offline []kmsg.DescribeLogDirsResponseDir
	for _, t := range h.asked(req) {
		rt := kmsg.NewDescribeLogDirsResponseDirTopic()
		rt.Topic = t.name
		for _, p := range t.partitions {
			if p.Offline() != nil {
				offline = append(offline, offlineDir(p))
				continue
			}
			rt.Partitions = append(rt.Partitions, sizeOf(p))
		}
		if len(rt.Partitions) > 0 {
			dir.Topics = append(dir.Topics, rt)
		}
	}
	resp.Dirs = append([]kmsg.DescribeLogDirsResponseDir{dir}, offline...)
	return resp
}

// absolute is how Kafka names directories.
func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

func sizeOf(p *partition.Partition) kmsg.DescribeLogDirsResponseDirTopicPartition {
	rp := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
	rp.Partition, rp.Size = p.Index(), p.Size()
	return rp
}

func offlineDir(p *partition.Partition) kmsg.DescribeLogDirsResponseDir {
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir, dir.ErrorCode = absolute(p.Dir()), kerr.KafkaStorageError.Code
	rt := kmsg.NewDescribeLogDirsResponseDirTopic()
	rt.Topic = p.Topic().Name
	rt.Partitions = append(rt.Partitions, sizeOf(p))
	dir.Topics = append(dir.Topics, rt)
	return dir
}

// askedTopic is partitions of a topic that a request is about.
type askedTopic struct {
	name       string
	partitions []*partition.Partition
}

// asked is what there is of what the request names, each partition once, or everything when it names nothing, by name.
func (h *Handler) asked(req *kmsg.DescribeLogDirsRequest) (all []askedTopic) {
	if req.Topics == nil {
		for topic := range h.Table.Topics {
			all = append(all, askedTopic{topic.Name, topic.Partitions()})
		}
		slices.SortFunc(all, func(a, b askedTopic) int { return cmp.Compare(a.name, b.name) })
		return all
	}
	at, seen := map[string]int{}, map[*partition.Partition]bool{}
	for _, t := range req.Topics {
		i, known := at[t.Topic]
		if !known {
			i = len(all)
			at[t.Topic] = i
			all = append(all, askedTopic{name: t.Topic})
		}
		for _, index := range t.Partitions {
			if p, code := h.partition(t.Topic, index); code == 0 && !seen[p] {
				seen[p] = true
				all[i].partitions = append(all[i].partitions, p)
			}
		}
	}
	return all
}
