// Package recordtext holds the textual forms of records: the ones that `skein
// produce` reads and `skein consume` writes.
//
// There are four on each side. Lines: one record a line (or another
// delimiter), with an optional key. JSON lines: everything a record has, and
// what one side writes the other reads back exactly. Framed: key and value,
// each after its length as a 32-bit big-endian integer, -1 for null. Framed
// values: the same without keys. The consuming side also has format strings.
//
// Byte for byte exactness is the rule: no form trims, folds or repairs.
package recordtext

import (
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Reader reads records one after the other. Read returns io.EOF after the
// last, and a *LineError for input that is not a record. Records own their
// bytes. A record with Partition -1 leaves the partition open.
type Reader interface {
	Read() (*kgo.Record, error)
	Line() int // number of the last record read, counted from 1
}

// LineError is input that cannot be read as a record.
type LineError struct {
	Line int // counted from 1; for other delimiters than newline, the record's number
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Writer appends a record's textual form to dst.
type Writer func(dst []byte, r *kgo.Record) []byte

// anyPartition marks a record that does not name its partition.
const anyPartition = -1

func newRecord(key, value []byte) *kgo.Record {
	return &kgo.Record{Key: key, Value: value, Partition: anyPartition}
}

// eof turns an end of input inside a record into io.ErrUnexpectedEOF.
func eof(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
