// Package stream is the file format in which records travel between the tests
// and the client programs under clients/. Every number is big-endian:
//
//	record    = partition int32, timestamp int64, key, value, headers int32, header…
//	key,value = length int32 (-1 null), bytes
//	header    = name length int32, name bytes, value
//
// A timestamp of -1 leaves the choice to the client.
package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// Record is one record as a client sends or reads it. A nil Key or Value is
// null, an empty one is empty.
type Record struct {
	Partition int32
	Timestamp int64
	Key       []byte
	Value     []byte
	Headers   []Header
}

// Header is one record header; a nil Value is null.
type Header struct {
	Name  string
	Value []byte
}

// Append adds r's form to b.
func Append(b []byte, r Record) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(r.Partition))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Timestamp))
	b = appendBytes(b, r.Key)
	b = appendBytes(b, r.Value)
	b = binary.BigEndian.AppendUint32(b, uint32(len(r.Headers)))
	for _, h := range r.Headers {
		b = appendBytes(b, append([]byte{}, h.Name...))
		b = appendBytes(b, h.Value)
	}
	return b
}

func appendBytes(b, field []byte) []byte {
	if field == nil {
		return binary.BigEndian.AppendUint32(b, 0xffffffff)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(field)))
	return append(b, field...)
}

// Writer writes records to a file.
type Writer struct {
	file *os.File
	buf  *bufio.Writer
	one  []byte
}

// Create makes the file name.
func Create(name string) (*Writer, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	return &Writer{file: f, buf: bufio.NewWriterSize(f, 1<<20)}, nil
}

// Write adds one record.
func (w *Writer) Write(r Record) error {
	w.one = Append(w.one[:0], r)
	_, err := w.buf.Write(w.one)
	return err
}

// Close ends the file.
func (w *Writer) Close() error { return errors.Join(w.buf.Flush(), w.file.Close()) }

// Reader reads records from a file.
type Reader struct {
	file *os.File
	buf  *bufio.Reader
}

// Open opens the file name.
func Open(name string) (*Reader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &Reader{file: f, buf: bufio.NewReaderSize(f, 1<<20)}, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

// Next returns the next record, or io.EOF after the last whole one.
func (r *Reader) Next() (Record, error) {
	var head [12]byte
	if _, err := io.ReadFull(r.buf, head[:]); err != nil {
		return Record{}, err // io.EOF between two records
	}
	rec := Record{
		Partition: int32(binary.BigEndian.Uint32(head[:4])),
		Timestamp: int64(binary.BigEndian.Uint64(head[4:])),
	}
	err := r.rest(&rec)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return rec, err
}

func (r *Reader) rest(rec *Record) (err error) {
	if rec.Key, err = r.bytes(); err != nil {
		return err
	}
	if rec.Value, err = r.bytes(); err != nil {
		return err
	}
	headers, err := r.int32()
	if err != nil {
		return err
	}
	for range headers {
		name, err := r.bytes()
		if err != nil {
			return err
		}
		value, err := r.bytes()
		if err != nil {
			return err
		}
		rec.Headers = append(rec.Headers, Header{Name: string(name), Value: value})
	}
	return nil
}

func (r *Reader) bytes() ([]byte, error) {
	n, err := r.int32()
	if err != nil || n < 0 {
		return nil, err
	}
	if n > 1<<28 {
		return nil, fmt.Errorf("a field of %d bytes: the stream is out of step", n)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r.buf, b)
	return b, err
}

func (r *Reader) int32() (int32, error) {
	var b [4]byte
	_, err := io.ReadFull(r.buf, b[:])
	return int32(binary.BigEndian.Uint32(b[:])), err
}

// ReadAll reads a whole file.
func ReadAll(name string) ([]Record, error) {
	r, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []Record
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("record %d of %s: %w", len(all), name, err)
		}
		all = append(all, rec)
	}
}

// WriteAll writes a whole file.
func WriteAll(name string, records []Record) error {
	w, err := Create(name)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			w.Close()
			return err
		}
	}
	return w.Close()
}

// Fidelity is what a client can tell about a record, on the way in or out.
type Fidelity struct {
	NoTimestamps bool // cannot choose, or does not tell, timestamps
	NoHeaders    bool
	NullIsEmpty  bool // null keys, values and header values cannot be told from empty ones
}

// Reduce returns r as a client of this fidelity would give it back.
func (f Fidelity) Reduce(r Record) Record {
	if f.NoTimestamps {
		r.Timestamp = -1
	}
	if f.NoHeaders {
		r.Headers = nil
	}
	if f.NullIsEmpty {
		r.Key, r.Value = notNull(r.Key), notNull(r.Value)
		headers := make([]Header, len(r.Headers))
		for i, h := range r.Headers {
			headers[i] = Header{Name: h.Name, Value: notNull(h.Value)}
		}
		r.Headers = headers
	}
	return r
}

func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Difference tells how got differs from want, or is empty.
func Difference(want, got Record) string {
	switch {
	case want.Partition != got.Partition:
		return fmt.Sprintf("partition %d, want %d", got.Partition, want.Partition)
	case want.Timestamp != got.Timestamp:
		return fmt.Sprintf("timestamp %d, want %d", got.Timestamp, want.Timestamp)
	case !same(want.Key, got.Key):
		return fmt.Sprintf("key %s, want %s", brief(got.Key), brief(want.Key))
	case !same(want.Value, got.Value):
		return fmt.Sprintf("value %s, want %s", brief(got.Value), brief(want.Value))
	case len(want.Headers) != len(got.Headers):
		return fmt.Sprintf("%d headers, want %d", len(got.Headers), len(want.Headers))
	}
	for i, h := range want.Headers {
		if g := got.Headers[i]; g.Name != h.Name || !same(g.Value, h.Value) {
			return fmt.Sprintf("header %d %q=%s, want %q=%s", i, g.Name, brief(g.Value), h.Name, brief(h.Value))
		}
	}
	return ""
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func brief(b []byte) string {
	if b == nil {
		return "null"
	}
	if len(b) > 40 {
		return fmt.Sprintf("%q… (%d bytes)", b[:40], len(b))
	}
	return fmt.Sprintf("%q", b)
}
