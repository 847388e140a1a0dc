package record

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// words makes values that compress like JSON or log lines do: about 3 to 1.
func words(size int, seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 7))
	var b []byte
	for len(b) < size {
		b = fmt.Appendf(b, `{"id":%d,"user":"u%d","event":"click"},`, random.IntN(1e6), random.IntN(1000))
	}
	return b[:size]
}

func benchBatch(codec Codec, size, bytes int) Batch {
	b := NewBuilder(0)
	b.Codec = codec
	for i := range bytes / size {
		b.Append(handmadeNow+int64(i), fmt.Appendf(nil, "key-%d", i), words(size, uint64(i)))
	}
	return b.Bytes()
}

// BenchmarkValidate validates batches of 100 KB of records, and reports the time
// for each record.
func BenchmarkValidate(b *testing.B) {
	for codec := None; codec <= Zstd; codec++ {
		for _, size := range []int{100, 1024} {
			b.Run(fmt.Sprintf("%v/%d", codec, size), func(b *testing.B) {
				batch := benchBatch(codec, size, 100_000)
				var v Validator
				rules := anyTime(Rules{})
				b.ReportAllocs()
				b.SetBytes(100_000)
				for b.Loop() {
					if _, err := v.Validate(batch, rules); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch.Header().Count), "ns/record")
			})
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	batch := benchBatch(None, 100, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		_ = Walk(batch, nil, func(Record) bool { return true })
	}
}

func BenchmarkRecode(b *testing.B) {
	for codec := Gzip; codec <= Zstd; codec++ {
		b.Run(codec.String(), func(b *testing.B) {
			batch := benchBatch(None, 100, 100_000)
			var v Validator
			rules := anyTime(Rules{Target: Target{Recode: true, Codec: codec}})
			b.ReportAllocs()
			b.SetBytes(100_000)
			for b.Loop() {
				if _, err := v.Validate(batch, rules); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
