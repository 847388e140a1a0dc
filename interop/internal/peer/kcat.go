package peer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/skeinstream/skein/interop/internal/cache"
	"github.com/skeinstream/skein/interop/internal/stream"
	"github.com/skeinstream/skein/interop/proc"
)

// kcat is librdkafka's command-line tool, from Debian. It produces text cut by
// delimiters: no timestamps, no null, and one partition a run.
type kcat struct{ path string }

func kcatClient() Client {
	return Client{
		Name:  "kcat 1.7.1",
		Fast:  true,
		Sends: stream.Fidelity{NoTimestamps: true, NoHeaders: true, NullIsEmpty: true},
		Reads: stream.Fidelity{NoHeaders: true},
		open:  openKcat,
	}
}

func openKcat(ctx context.Context, _ string) (Conn, error) {
	if path, err := exec.LookPath("kcat"); err == nil {
		return kcat{path}, nil
	}
	if os.Getuid() != 0 {
		return nil, errors.New("kcat is not installed, and only root can install it")
	}
	_, err := cache.Entry(ctx, "kcat-installation", []byte("kcat"), func(ctx context.Context, _ string) error {
		if _, err := proc.Output(exec.CommandContext(ctx, "apt-get", "update", "-q")); err != nil {
			return err
		}
		_, err := proc.Output(exec.CommandContext(ctx, "apt-get", "install", "-q", "-y", "--no-install-recommends", "kcat"))
		return err
	})
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath("kcat")
	return kcat{path}, err
}

// Delimiters that no test data holds.
const (
	recordEnd = "\x01\xfe#skein-record#\xfe\x01"
	keyEnd    = "\x01\xfe#skein-key#\xfe\x01"
)

func (k kcat) Produce(ctx context.Context, bootstrap, topic, codec, file string) error {
	records, err := stream.ReadAll(file)
	if err != nil {
		return err
	}
	inputs := make(map[int32]*bytes.Buffer)
	for _, r := range records {
		if inputs[r.Partition] == nil {
			inputs[r.Partition] = new(bytes.Buffer)
		}
		b := inputs[r.Partition]
		b.Write(r.Key)
		b.WriteString(keyEnd)
		b.Write(r.Value)
		b.WriteString(recordEnd)
	}
	for partition, input := range inputs {
		cmd := exec.CommandContext(ctx, k.path, "-P", "-b", bootstrap, "-t", topic, "-p", strconv.Itoa(int(partition)),
			"-D", recordEnd, "-K", keyEnd, "-z", codec,
			"-X", "enable.idempotence=true", "-X", "acks=all", "-X", "linger.ms=20", "-X", "message.timeout.ms=60000")
		cmd.Stdin = input
		if _, err := proc.Output(cmd); err != nil {
			return err
		}
	}
	return nil
}

func (k kcat) Consume(ctx context.Context, bootstrap, topic string, count int, file string) error {
	cmd := exec.CommandContext(ctx, k.path, "-C", "-q", "-b", bootstrap, "-t", topic, "-o", "beginning", "-c", strconv.Itoa(count),
		"-X", "fetch.wait.max.ms=50", "-X", "fetch.message.max.bytes=4194304",
		"-f", "%p %T %K %S\n%k%s")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	got, readErr := copyRecords(output, file)
	if err := errors.Join(readErr, cmd.Wait()); err != nil {
		return fmt.Errorf("kcat: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	if got != count {
		return fmt.Errorf("kcat gave %d of %d records: %s", got, count, strings.TrimSpace(errs.String()))
	}
	return nil
}

func copyRecords(output io.Reader, file string) (int, error) {
	w, err := stream.Create(file)
	if err != nil {
		return 0, err
	}
	in := bufio.NewReaderSize(output, 1<<20)
	for n := 0; ; n++ {
		r, err := readKcat(in)
		if errors.Is(err, io.EOF) {
			return n, w.Close()
		}
		if err == nil {
			err = w.Write(r)
		}
		if err != nil {
			return n, errors.Join(err, w.Close())
		}
	}
}

// readKcat reads one record of the format that Consume asks for.
func readKcat(in *bufio.Reader) (stream.Record, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return stream.Record{}, err
	}
	var r stream.Record
	var keySize, valueSize int
	if _, err := fmt.Sscanf(line, "%d %d %d %d\n", &r.Partition, &r.Timestamp, &keySize, &valueSize); err != nil {
		return r, fmt.Errorf("reading %q: %w", line, err)
	}
	if r.Key, err = readSized(in, keySize); err != nil {
		return r, err
	}
	r.Value, err = readSized(in, valueSize)
	return r, err
}

func readSized(in *bufio.Reader, size int) ([]byte, error) {
	if size < 0 {
		return nil, nil
	}
	b := make([]byte, size)
	_, err := io.ReadFull(in, b)
	return b, err
}

func (kcat) Close() error { return nil }
