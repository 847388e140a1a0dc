package api

import (
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/internal/settings"
)

// aged is a handler that shows a release of Kafka; "" shows all.
func aged(release string) *Handler {
	return New(Deps{Groups: &fakeGroups{}, Transactions: &fakeTransactions{}, KafkaVersion: release})
}

// ranges are the versions of all requests.
func (h *Handler) ranges() map[int16][2]int16 {
	all := map[int16][2]int16{}
	for _, k := range h.advertised() {
		all[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
	}
	return all
}

// The newest release has all that there is: what we serve is never newer than Kafka.
func TestTheNewestReleaseIsNotRestricted(t *testing.T) {
	releases := settings.KafkaReleases()
	newest, all := aged(releases[len(releases)-1]), aged("")
	if got, want := newest.ranges(), all.ranges(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := newest.features(), all.features(); !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("features %v, want %v", got, want)
	}
}

// Each release has what kversion says, as far as it is served: no request that was not there yet, no version beyond.
func TestAReleaseHasNothingThatCameLater(t *testing.T) {
	for _, release := range settings.KafkaReleases() {
		h, versions := aged(release), versionsOf(release)
		if versions == nil {
			t.Errorf("nobody knows what %s has", release)
			continue
		}
		for key, r := range h.ranges() {
			most, had := versions.LookupMaxKeyVersion(key)
			since, later := withoutZooKeeper()[key]
			if later && !had {
				most, had = 0, notBefore(release, since)
			}
			if !had || r[1] > most || r[0] > r[1] {
				t.Errorf("%s: %s is served from %d to %d, where Kafka has %d (%t)", release, kmsg.NameForKey(key), r[0], r[1], most, had)
			}
			if h.Supports(key, most+1) {
				t.Errorf("%s: %s v%d is served", release, kmsg.NameForKey(key), most+1)
			}
		}
		if got, had := h.ranges()[18]; !had || h.tooNew().ApiKeys[0].MaxVersion != got[1] {
			t.Errorf("%s: versions from the future are told %v", release, h.tooNew().ApiKeys)
		}
	}
}

// What a client needs is there in every age; the rest is from the release on that brought it.
func TestWhatReleasesBrought(t *testing.T) {
	for _, c := range []struct {
		what         string
		key, version int16
		since        string
	}{
		{"Produce of batches", 0, 3, "0.11"},
		{"Fetch of what is committed", 1, 4, "0.11"},
		{"JoinGroup", 11, 0, "0.11"},
		{"TxnOffsetCommit", 28, 0, "0.11"},
		{"static members (KIP-345)", 11, 5, "2.3"},
		{"offsets deleted (KIP-496)", 47, 0, "2.4"},
		{"generations in transactions (KIP-447)", 28, 3, "2.5"},
		{"stable offsets (KIP-447)", 9, 7, "2.5"},
		{"recovery of producers (KIP-360)", 22, 3, "2.5"},
		{"transactions described (KIP-664)", 65, 0, "3.0"},
		{"topics described (KIP-966)", 75, 0, "3.8"},
		{"implicit partitions (KIP-890)", 0, 12, "4.0"},
		{"topics by id in offsets", 8, 10, "4.2"},
	} {
		for _, release := range settings.KafkaReleases() {
			if got, want := aged(release).Supports(c.key, c.version), notBefore(release, c.since); got != want {
				t.Errorf("%s has %s: %t", release, c.what, got)
			}
		}
	}
}

// KIP-890 is announced by the releases that have it in force.
func TestFeaturesOfReleases(t *testing.T) {
	for _, release := range settings.KafkaReleases() {
		want := 0
		if notBefore(release, "4.0") {
			want = 1
		}
		if got := aged(release).features(); len(got) != want {
			t.Errorf("%s announces %v", release, got)
		}
	}
}

// The list grows with franz-go's.
func TestReleasesAreThoseOfFranzGo(t *testing.T) {
	known := kversion.VersionStrings()
	for _, release := range settings.KafkaReleases() {
		if release == "0.11" {
			release = "0.11.0"
		}
		if !slices.Contains(known, "v"+release) {
			t.Errorf("franz-go knows no %s: %v", release, known)
		}
	}
	if newest := settings.KafkaReleases()[len(settings.KafkaReleases())-1]; known[0] != "v"+newest {
		t.Errorf("franz-go knows %s, and the newest here is %s: add it", known[0], newest)
	}
}
