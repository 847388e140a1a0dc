package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// profileSeconds is how long a profile is taken, from the row's begin: less
// than any row of a profiled run.
const profileSeconds = 2

// profile takes a processor profile of the broker while a row runs, when that
// was asked for and the broker offers it. The returned function waits for it.
func (v *visit) profile(row string) (finish func() error) {
	if v.options.profiles == "" || v.broker.Profiles == "" {
		return func() error { return nil }
	}
	url := fmt.Sprintf("%sprofile?seconds=%d", v.broker.Profiles, profileSeconds)
	name := filepath.Join(v.options.profiles, fmt.Sprintf("%s-%s.pprof", v.peer, row))
	done := make(chan error, 1)
	go func() { done <- fetch(url, name) }()
	return func() error { return <-done }
}

func fetch(url, name string) error {
	resp, err := http.Get(url)
	if err != nil {
		return fmt.Errorf("taking a profile: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("taking a profile: %s", resp.Status)
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	defer f.Close()
	_, err = io.Copy(f, resp.Body)
	return err
}
