package main

import (
	"bytes"
	"context"
	"strconv"
	"unicode"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/producer"
)

// split makes words of lines. The key has all that there is of a word come to one partition; those of a batch are added up before, which
// spares records.
func split(ctx context.Context, cluster client.Config, name string) error {
	return exactlyonce.Run(ctx, exactlyonce.Config{
		Consumer: consumer.Config{Cluster: cluster, Group: "split", InstanceID: name, Reset: consumer.Earliest},
		Topics:   []string{"lines"},
	}, func(_ context.Context, batch consumer.Batch, out *exactlyonce.Out) error {
		found := map[string]int64{}
		for line := range batch.Records() {
			for _, word := range wordsOf(line.Value) {
				found[word]++
			}
		}
		for word, n := range found {
			out.Send(&producer.Record{Topic: "words", Key: []byte(word), Value: strconv.AppendInt(nil, n, 10)})
		}
		return nil
	})
}

func wordsOf(line []byte) (list []string) {
	for _, word := range bytes.FieldsFunc(bytes.ToLower(line), func(r rune) bool { return !unicode.IsLetter(r) }) {
		list = append(list, string(word))
	}
	return list
}
