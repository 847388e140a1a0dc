package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/skeinstream/skein/interop/internal/stream"
)

// patience is how long a Go client may go without progress.
const patience = 60 * time.Second

func goClients() []Client {
	inProcess := func(conn Conn) func(context.Context, string) (Conn, error) {
		return func(context.Context, string) (Conn, error) { return conn, nil }
	}
	return []Client{
		{Name: "franz-go 1.22.3", Fast: true, open: inProcess(franz{})},
		{Name: "sarama 1.61.1", Fast: true, open: inProcess(saramaClient{})},
		{Name: "kafka-go 0.4.51", Reads: stream.Fidelity{NullIsEmpty: true}, open: inProcess(segment{})},
	}
}

// eachRecord calls f for each record of file.
func eachRecord(file string, f func(stream.Record) error) error {
	in, err := stream.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	for {
		r, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
}

func timeOf(ms int64) time.Time {
	if ms < 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func codecNamed[T any](table map[string]T, codec string) (T, error) {
	c, ok := table[codec]
	if !ok {
		return c, fmt.Errorf("%w: no %s", ErrLacks, codec)
	}
	return c, nil
}
