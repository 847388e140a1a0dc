package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/internal/settings"
)

// The age of a broker, as clients see it, is which requests it has in which versions, and which features. So a broker that
// shows less of both is an old broker to them (skein.emulate.kafka.version): what they do on Kafka 2.4 they do here. What a
// request means does not depend on it, for each version is served as it always is.

// withoutZooKeeper are the requests that came into Kafka before 4.0 and are served without a ZooKeeper alone, with the
// releases that they came with: kversion has the older releases with one.
func withoutZooKeeper() map[int16]string { return map[int16]string{74: "3.7", 75: "3.8"} }

// restrict takes from the table what the release did not have.
func (h *Handler) restrict(release string) {
	versions := versionsOf(release)
	for key, e := range h.table {
		most, had := mostOf(versions, release, key)
		if e.max = min(e.max, most); !had || e.max < e.min {
			delete(h.table, key)
			continue
		}
		h.table[key] = e
	}
}

// versionsOf is what a release has, which is one of settings.KafkaReleases.
func versionsOf(release string) *kversion.Versions {
	if release == "0.11" {
		release = "0.11.0"
	}
	return kversion.FromString(release)
}

func mostOf(versions *kversion.Versions, release string, key int16) (most int16, had bool) {
	if most, had = versions.LookupMaxKeyVersion(key); had {
		return most, true
	}
	since, known := withoutZooKeeper()[key]
	return 0, known && notBefore(release, since)
}

// notBefore tells whether a release is another one, or newer.
func notBefore(release, other string) bool {
	releases := settings.KafkaReleases()
	return slices.Index(releases, release) >= slices.Index(releases, other)
}

// finalizedBy leaves the features whose level new clusters of a release have in force.
func finalizedBy(release string, features []feature) (left []feature) {
	versionsOf(release).EachFinalizedFeature(func(name string, level int16) {
		for _, f := range features {
			if f.name == name && f.level <= level {
				left = append(left, f)
			}
		}
	})
	return left
}
