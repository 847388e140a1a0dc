package recordtext

import (
	"bytes"
	"testing"
)

func BenchmarkReadJSON(b *testing.B) { benchmarkRead(b, AppendJSON(nil, sample())) }

func BenchmarkReadLines(b *testing.B) { benchmarkRead(b, []byte("k1:a value of usual length\n")) }

func benchmarkRead(b *testing.B, line []byte) {
	const lines = 1000
	in := bytes.Repeat(line, lines)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewLines(bytes.NewReader(in), LineForm{KeySeparator: []byte(":")})
		if line[0] == '{' {
			r = NewJSON(bytes.NewReader(in), 0)
		}
		for range lines {
			if _, err := r.Read(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/record")
}

func BenchmarkWriteJSON(b *testing.B) {
	r := sample()
	var buf []byte
	for b.Loop() {
		buf = AppendJSON(buf[:0], r)
	}
	b.SetBytes(int64(len(buf)))
}
