package cli

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/recordtext"
)

// dumpedBatch is one record batch of a segment file.
type dumpedBatch struct {
	Position      int64  `json:"position"` // of the batch in the file
	Size          int64  `json:"size_bytes"`
	BaseOffset    int64  `json:"base_offset"`
	LastOffset    int64  `json:"last_offset"`
	Records       int32  `json:"records"`
	LeaderEpoch   int32  `json:"leader_epoch"`
	Timestamp     int64  `json:"base_timestamp"`
	MaxTimestamp  int64  `json:"max_timestamp"`
	Codec         string `json:"codec"`
	ProducerID    int64  `json:"producer_id"`
	ProducerEpoch int16  `json:"producer_epoch"`
	BaseSequence  int32  `json:"base_sequence"`
	Transactional bool   `json:"transactional"`
	Control       bool   `json:"control"`
	LogAppendTime bool   `json:"log_append_time"`
	CRC           string `json:"crc"`
	Valid         bool   `json:"valid"`
}

func newLogDump(a *app) *cobra.Command {
	var records bool
	cmd := &cobra.Command{
		Use:   "dump FILE…",
		Short: "Print the record batches of segment files (ours or Kafka's)",
		Example: `skein log dump skein-data/orders-0/00000000000000000000.log
skein log dump --records --json skein-data/orders-0/*.log`,
		Args:              someArgs("a segment file (….log)"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	cmd.Flags().BoolVar(&records, "records", false, "print the records too, as JSON lines")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		out := bufio.NewWriter(a.env.Stdout)
		defer out.Flush()
		for _, name := range files {
			d := dumper{app: a, out: out, records: records}
			if err := d.file(name); err != nil {
				return err
			}
			if err := cmd.Context().Err(); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

type dumper struct {
	app     *app
	out     *bufio.Writer
	records bool
	buf     []byte
}

func (d *dumper) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return problem.New("", "opening the segment: %w", err)
	}
	defer f.Close()
	if !d.app.json {
		fmt.Fprintf(d.out, "%s\n", name)
	}
	r := bufio.NewReaderSize(f, 1<<20)
	for position := int64(0); ; {
		raw, err := nextBatch(r)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return problem.New("the file ends with a batch that is cut off or not a batch at all; a running broker may be writing it", "%s: at byte %d: %w", name, position, err)
		}
		if err := d.batch(name, position, raw); err != nil {
			return fmt.Errorf("%s: at byte %d: %w", name, position, err)
		}
		position += int64(len(raw))
	}
}

// nextBatch reads one whole batch.
func nextBatch(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(batchPrefix)
	if err == io.EOF && len(head) > 0 {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(head[batchLengthAt:])))
	if n < batchHeaderSize-batchPrefix {
		return nil, fmt.Errorf("no batch has the length %d", n)
	}
	raw, err := io.ReadAll(io.LimitReader(r, int64(batchPrefix+n)))
	if err == nil && len(raw) < batchPrefix+n {
		err = io.ErrUnexpectedEOF
	}
	return raw, err
}

func (d *dumper) batch(name string, position int64, raw []byte) error {
	var b kmsg.RecordBatch
	if err := b.ReadFrom(raw); err != nil {
		return fmt.Errorf("reading a batch: %w", err)
	}
	out := describeBatch(position, raw, b)
	if d.app.json && !d.records {
		if err := d.app.encodeLine(d.out, out); err != nil {
			return err
		}
	}
	if !d.app.json {
		out.text(d.out)
	}
	if !d.records {
		return nil
	}
	return d.printRecords(name, raw)
}

func describeBatch(position int64, raw []byte, b kmsg.RecordBatch) dumpedBatch {
	const crcCovers = 21 // attributes and all that follows
	return dumpedBatch{
		Position: position, Size: int64(len(raw)), BaseOffset: b.FirstOffset, LastOffset: b.FirstOffset + int64(b.LastOffsetDelta),
		Records: b.NumRecords, LeaderEpoch: b.PartitionLeaderEpoch, Timestamp: b.FirstTimestamp, MaxTimestamp: b.MaxTimestamp,
		Codec: codecText(b.Attributes), ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch, BaseSequence: b.FirstSequence,
		Transactional: b.Attributes&0x10 != 0, Control: b.Attributes&0x20 != 0, LogAppendTime: b.Attributes&0x08 != 0,
		CRC: fmt.Sprintf("%08x", uint32(b.CRC)), Valid: crc32.Checksum(raw[crcCovers:], crc32.MakeTable(crc32.Castagnoli)) == uint32(b.CRC),
	}
}

func codecText(attributes int16) string {
	names := []string{"none", "gzip", "snappy", "lz4", "zstd"}
	if n := int(attributes & 7); n < len(names) {
		return names[n]
	}
	return fmt.Sprintf("unknown (%d)", attributes&7)
}

func (b dumpedBatch) text(w io.Writer) {
	fmt.Fprintf(w, "  byte %d: offsets %d to %d, %s, %d bytes, %s, epoch %d, time %d to %d", b.Position, b.BaseOffset, b.LastOffset,
		count(b.Records, "record"), b.Size, b.Codec, b.LeaderEpoch, b.Timestamp, b.MaxTimestamp)
	if b.ProducerID >= 0 {
		fmt.Fprintf(w, ", producer %d epoch %d sequence %d", b.ProducerID, b.ProducerEpoch, b.BaseSequence)
	}
	for label, on := range map[string]bool{", transactional": b.Transactional, ", control": b.Control, ", WRONG CHECKSUM": !b.Valid} {
		if on {
			fmt.Fprint(w, label)
		}
	}
	fmt.Fprintln(w)
}

// printRecords decodes a batch with the client's own code for fetches.
func (d *dumper) printRecords(name string, raw []byte) error {
	topic, partition := partitionOf(name)
	options := kgo.ProcessFetchPartitionOpts{KeepControlRecords: true, Topic: topic, Partition: partition, IsolationLevel: kgo.ReadUncommitted()}
	fetched := kmsg.NewFetchResponseTopicPartition()
	fetched.Partition, fetched.RecordBatches = partition, raw
	p, _ := kgo.ProcessFetchPartition(options, &fetched, kgo.DefaultDecompressor(), nil)
	for _, r := range p.Records {
		d.buf = recordtext.AppendJSON(d.buf[:0], r)
		if _, err := d.out.Write(d.buf); err != nil {
			return fmt.Errorf("writing the output: %w", err)
		}
	}
	return p.Err
}

// partitionOf reads topic and partition from the name of the directory that a
// segment lies in.
func partitionOf(file string) (topic string, partition int32) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", 0
	}
	dir := filepath.Base(filepath.Dir(abs))
	for i := len(dir) - 1; i > 0; i-- {
		if dir[i] == '-' {
			n, err := strconv.ParseInt(dir[i+1:], 10, 32)
			if err == nil {
				return dir[:i], int32(n)
			}
			break
		}
	}
	return "", 0
}
