package storage

import (
	"errors"
	"slices"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

func TestBoundsOnlyRise(t *testing.T) {
	fs, _ := memory(t)
	must(t, fs.MkdirAll(dir))
	for _, c := range []struct{ least, want bounds }{
		{bounds{}, bounds{}},
		{bounds{start: 5, durable: 9}, bounds{5, 9}},
		{bounds{durable: 20}, bounds{5, 20}},
		{bounds{start: 7, durable: 3}, bounds{7, 20}},
	} {
		must(t, raiseBounds(fs, dir, c.least))
		got, err := readBounds(fs, dir)
		must(t, err)
		expect(t, "bounds", got, c.want)
	}
	b, err := vfs.ReadFile(fs, dir+"/"+boundsName)
	must(t, err)
	expect(t, "file", string(b), "0\n7 20\n")
	for _, bad := range []string{"", "0\n", "1\n7 20\n", "0\n7\n", "0\n-7 20\n", "0\n7 20\n8"} {
		must(t, vfs.WriteFile(fs, dir+"/"+boundsName, []byte(bad)))
		if _, err := readBounds(fs, dir); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestEpochsFile(t *testing.T) {
	list := []epoch{{0, 0}, {5, 17}, {6, 90}}
	expect(t, "file", string(formatEpochs(list)), "0\n3\n0 0\n5 17\n6 90\n")
	got, err := parseEpochs(formatEpochs(list))
	must(t, err)
	if !slices.Equal(got, list) {
		t.Fatal(got)
	}
	for _, bad := range []string{
		"", "0", "0\n", "1\n0\n", "0\n1\n", "0\n0\n0 0\n", "0\n1\n0\n", "0\n1\n0 0 0\n", "0\n1\n-1 0\n", "0\n1\n0 -1\n",
		"0\n2\n5 0\n5 9\n", "0\n2\n5 9\n6 9\n", "0\n1\n99999999999 0\n", "0\n1\n0x1 0\n",
	} {
		if _, err := parseEpochs([]byte(bad)); !errors.Is(err, errEpochs) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestEpochLists(t *testing.T) {
	list := []epoch{{1, 0}, {3, 10}, {4, 20}}
	same := func(what string, got []epoch, want ...epoch) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	same("a newer one", assignEpoch(list, epoch{5, 30}), epoch{1, 0}, epoch{3, 10}, epoch{4, 20}, epoch{5, 30})
	same("the same again", assignEpoch(list, epoch{4, 30}), list...)
	same("an older one", assignEpoch(list, epoch{2, 30}), list...)
	same("in place of one without records", assignEpoch(list, epoch{6, 20}), epoch{1, 0}, epoch{3, 10}, epoch{6, 20})
	same("cut", cutEpochs(list, 20), epoch{1, 0}, epoch{3, 10})
	same("cut behind the end", cutEpochs(list, 21), list...)
	same("trimmed", trimEpochs(list, 15), epoch{3, 15}, epoch{4, 20})
	same("trimmed at a start", trimEpochs(list, 10), epoch{3, 10}, epoch{4, 20})
	same("trimmed before all", trimEpochs(list[1:], 5), epoch{3, 10}, epoch{4, 20})
}

func TestNames(t *testing.T) {
	for name, want := range map[string]parsed{
		"00000000000000000042.log":                   {base: 42, kind: logSuffix},
		"00000000000000000042.timeindex.swap":        {base: 42, kind: timeSuffix, state: swapSuffix},
		"09223372036854775807.snapshot.deleted":      {base: 1<<63 - 1, kind: snapshotSuffix, state: deletedSuffix},
		"00000000000000000000.txnindex.cleaned":      {kind: abortedSuffix, state: cleanedSuffix},
		"00000000000000000042.log.damaged":           {},
		"00000000000000000042.log.deleted.deleted":   {},
		"00000000000000000042.checkpoint.deleted":    {},
		"0000000000000000004.log":                    {},
		"-0000000000000000042.log":                   {},
		"99999999999999999999.log":                   {},
		"leader-epoch-checkpoint":                    {},
		"00000000000000000042":                       {},
		"00000000000000000042log":                    {},
		"somewhere/00000000000000000042.log":         {},
		"00000000000000000042-0000000001.checkpoint": {},
	} {
		got, ok := parseName(name)
		if want.name = name; ok != (want.kind != "") || ok && got != want {
			t.Errorf("%s: got %+v (%v)", name, got, ok)
		}
	}
}
