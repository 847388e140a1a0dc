package stream

import (
	"path/filepath"
	"testing"
)

func TestStreamGivesBackWhatWasWritten(t *testing.T) {
	records := []Record{
		{Partition: 0, Timestamp: -1},
		{Partition: 3, Timestamp: 1, Key: []byte{}, Value: []byte{0xff, 0}},
		{Key: []byte("k"), Headers: []Header{{Name: "n"}, {Name: "", Value: []byte{}}}},
	}
	name := filepath.Join(t.TempDir(), "s")
	if err := WriteAll(name, records); err != nil {
		t.Fatal(err)
	}
	got, err := ReadAll(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(records) {
		t.Fatalf("%d records, want %d", len(got), len(records))
	}
	for i := range records {
		if d := Difference(records[i], got[i]); d != "" {
			t.Errorf("record %d: %s", i, d)
		}
	}
}

func TestDifferenceTellsNullFromEmpty(t *testing.T) {
	if Difference(Record{Value: nil}, Record{Value: []byte{}}) == "" {
		t.Error("null and empty values were taken for the same")
	}
}
