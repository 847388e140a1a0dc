package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/examples/internal/stage"
	"github.com/skeinstream/skein/examples/internal/table"
	"github.com/skeinstream/skein/producer"
)

const everything = -1

// text is Isaac Newton's Opticks of 1704, which comes with Go.
func text(lines int) ([][]byte, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("asking where Go is: %w", err)
	}
	all, err := os.ReadFile(filepath.Join(string(bytes.TrimSpace(root)), "src/testdata/Isaac.Newton-Opticks.txt"))
	if err != nil {
		return nil, err
	}
	list := bytes.Split(all, []byte("\n"))
	if lines != everything {
		list = list[:lines]
	}
	return list, nil
}

// read reads lines out, evenly over a time.
func read(ctx context.Context, cluster client.Config, lines int, lasts time.Duration) (err error) {
	list, err := text(lines)
	if err != nil {
		return err
	}
	p, err := producer.New(producer.Config{Cluster: cluster})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(context.WithoutCancel(ctx))) }()
	const breaths = 100
	atOnce := len(list)/breaths + 1
	for len(list) > 0 {
		var batch []*producer.Record
		for _, line := range list[:min(atOnce, len(list))] {
			batch = append(batch, &producer.Record{Topic: "lines", Value: line})
		}
		list = list[len(batch):]
		if err := errors.Join(p.SendSync(ctx, batch...), stage.Wait(ctx, lasts/breaths)); err != nil {
			return err
		}
	}
	return nil
}

// check counts once more, without Kafka.
func check(ctx context.Context, cluster client.Config, lines int) (string, error) {
	list, err := text(lines)
	if err != nil {
		return "", err
	}
	want, words := map[string]int64{}, 0
	for _, line := range list {
		for _, word := range wordsOf(line) {
			want[word]++
			words++
		}
	}
	rows, err := table.Read(ctx, cluster, "counts")
	if err != nil {
		return "", err
	}
	for word, n := range want {
		if got := string(rows[word]); got != fmt.Sprint(n) {
			err = errors.Join(err, fmt.Errorf("%q was counted %q times, and is there %d times", word, got, n))
		}
	}
	if err == nil && len(rows) != len(want) {
		err = fmt.Errorf("%d words were counted, and there are %d", len(rows), len(want))
	}
	return fmt.Sprintf("checked: %d words, %d of them different, and every count is right (\"light\": %s)", words, len(want), rows["light"]), err
}
