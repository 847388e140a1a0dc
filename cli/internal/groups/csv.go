package groups

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// Row is one line of a file with offsets, in the form of Kafka's own tool: topic,partition,offset.
type Row struct {
	Topic     string
	Partition int32
	Offset    int64
}

// ReadRows reads a file with offsets. Lines with a fourth column in front, the group, are those that Kafka writes for several
// groups: the ones of other groups are passed over.
func ReadRows(r io.Reader, group string) ([]Row, error) {
	lines := csv.NewReader(r)
	lines.FieldsPerRecord = -1
	lines.TrimLeadingSpace = true
	var rows []Row
	seen := map[string]int{}
	for {
		fields, err := lines.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, badRows("%w", err)
		}
		line, _ := lines.FieldPos(0)
		if len(fields) == 4 {
			if fields[0] != group {
				continue
			}
			fields = fields[1:]
		}
		row, err := parseRow(fields)
		if err != nil {
			return nil, badRows("line %d: %w", line, err)
		}
		place := fmt.Sprintf("%s:%d", row.Topic, row.Partition)
		if before, again := seen[place]; again {
			return nil, badRows("line %d: %s partition %d stands in line %d already", line, row.Topic, row.Partition, before)
		}
		seen[place] = line
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, badRows("it has no offsets for the group %s", group)
	}
	return rows, nil
}

func badRows(format string, args ...any) error {
	return problem.Usage("a line is TOPIC,PARTITION,OFFSET, as --export writes it", format, args...)
}

func parseRow(fields []string) (Row, error) {
	if len(fields) != 3 {
		return Row{}, fmt.Errorf("%q is not TOPIC,PARTITION,OFFSET", strings.Join(fields, ","))
	}
	partition, err := strconv.ParseInt(strings.TrimSpace(fields[1]), 10, 32)
	if err != nil || partition < 0 {
		return Row{}, fmt.Errorf("%q is not a partition", fields[1])
	}
	offset, err := strconv.ParseInt(strings.TrimSpace(fields[2]), 10, 64)
	if err != nil || offset < 0 {
		return Row{}, fmt.Errorf("%q is not an offset", fields[2])
	}
	if fields[0] == "" {
		return Row{}, errors.New("the topic is missing")
	}
	return Row{fields[0], int32(partition), offset}, nil
}

// WriteRows writes the new offsets of moves so that ReadRows, and Kafka's own tool, read them.
func WriteRows(w io.Writer, moves []Move) error {
	lines := csv.NewWriter(w)
	for _, m := range moves {
		if m.New == nil {
			continue
		}
		if err := lines.Write([]string{m.Topic, strconv.Itoa(int(m.Partition)), strconv.FormatInt(*m.New, 10)}); err != nil {
			return err
		}
	}
	lines.Flush()
	return lines.Error()
}
