package settings

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestEveryDefaultIsAllowed(t *testing.T) {
	for _, table := range []*Table{Topics(), Brokers()} {
		for _, d := range table.All() {
			if d.Unset {
				continue
			}
			v, err := d.Parse(d.Default)
			if err != nil {
				t.Errorf("%s: %v", d.Name, err)
			}
			if v.Text != d.Default {
				t.Errorf("%s: default %q is not canonical, want %q", d.Name, d.Default, v.Text)
			}
		}
	}
}

func TestNamesAreUniqueInEveryForm(t *testing.T) {
	for _, table := range []*Table{Topics(), Brokers()} {
		seen := map[string]string{}
		for _, d := range table.All() {
			for _, form := range []string{d.Name, EnvName(d.Name), "flag " + FlagName(d.Name)} {
				if other, twice := seen[form]; twice {
					t.Errorf("%s and %s are both %s", other, d.Name, form)
				}
				seen[form] = d.Name
			}
		}
	}
}

func TestEverySettingIsDocumented(t *testing.T) {
	for _, table := range []*Table{Topics(), Brokers()} {
		for _, d := range table.All() {
			if d.Group == "" || !strings.HasSuffix(d.Doc, ".") {
				t.Errorf("%s: group %q, doc %q", d.Name, d.Group, d.Doc)
			}
		}
	}
}

func TestSynonymsAreBrokerSettingsOfTheSameType(t *testing.T) {
	for _, d := range Topics().All() {
		for _, s := range d.Synonyms {
			b, ok := Brokers().Lookup(s)
			if !ok || b.Type != d.Type {
				t.Errorf("%s: synonym %s: %v, %v", d.Name, s, ok, b.Type)
			}
			if s == d.Name && (b.Default != d.Default || b.ValidText() != d.ValidText()) {
				t.Errorf("%s: the broker's differs", s)
			}
		}
	}
}

func TestUnknownNamesTheNearest(t *testing.T) {
	for name, want := range map[string]string{
		"retention.mss":      "retention.ms",
		"Retention.MS":       "retention.ms",
		"retenion.ms":        "retention.ms",
		"cleanup.polcy":      "cleanup.policy",
		"max.message.byte":   "max.message.bytes",
		"segmnet.bytes":      "segment.bytes",
		"something.else.yet": "",
	} {
		_, err := Topics().Parse(name, "1")
		var unknown *UnknownError
		if !errors.As(err, &unknown) || unknown.Nearest != want {
			t.Errorf("%s: %v, want nearest %q", name, err, want)
		}
	}
}

func TestWrongValuesNameTheRange(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"segment.bytes", "5", "Invalid value 5 for configuration segment.bytes: value must be at least 1048576 (valid: 1048576 to 2147483647)"},
		{"segment.bytes", "2147483648", "not a number of type INT"},
		{"retention.ms", "-2", "value must be at least -1"},
		{"compression.gzip.level", "0", "value must be between 1 and 9 or equal to -1"},
		{"compression.lz4.level", "18", "value must be no more than 17"},
		{"cleanup.policy", "compat", `"compat" is not known; did you mean compact?`},
		{"cleanup.policy", "compact,", "values must not be empty"},
		{"cleanup.policy", "COMPACT", "did you mean compact?"},
		{"compression.type", "", "is not known"},
		{"min.cleanable.dirty.ratio", "1.01", "no more than 1"},
		{"min.cleanable.dirty.ratio", "NaN", "not a number of type DOUBLE"},
		{"preallocate", "yes", "either true or false"},
		{"leader.replication.throttled.replicas", "*,0:1", "must stand alone"},
		{"leader.replication.throttled.replicas", "0", "partition:broker"},
	} {
		_, err := Topics().Parse(c.name, c.value)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %s", c.name, c.value, err, c.want)
		}
	}
}

// Kafka 4.4 accepts these, probed one by one, and shows them so.
func TestValuesAreReadAsKafkaReadsThem(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"segment.bytes", " 2000000 ", "2000000"},
		{"retention.ms", "+7", "7"},
		{"retention.bytes", "-9223372036854775808", "-9223372036854775808"},
		{"compression.zstd.level", "-3", "-3"},
		{"compression.type", " lz4 ", "lz4"},
		{"cleanup.policy", "", ""},
		{"cleanup.policy", " compact , delete ", "compact,delete"},
		{"cleanup.policy", "compact,compact", "compact"},
		{"preallocate", "TRUE", "true"},
		{"min.cleanable.dirty.ratio", "1", "1.0"},
		{"min.cleanable.dirty.ratio", "0.50000", "0.5"},
		{"min.cleanable.dirty.ratio", "1e-5", "1.0E-5"},
		{"leader.replication.throttled.replicas", "0:1,1:1", "0:1,1:1"},
	} {
		v, err := Topics().Parse(c.name, c.value)
		if err != nil || v.Text != c.want {
			t.Errorf("%s=%q: %q, %v, want %q", c.name, c.value, v.Text, err, c.want)
		}
	}
}

func TestCheckTellsOfAFewProblems(t *testing.T) {
	wrong := map[string]string{}
	for i := range 1000 {
		wrong[fmt.Sprint("retention.ms", i)] = "1"
	}
	err := Topics().Check(wrong)
	if err == nil || strings.Count(err.Error(), "\n") != problemsMax || !strings.Contains(err.Error(), "perhaps more") {
		t.Errorf("%v", err)
	}
}

// Looking for each item in the list before it took minutes for as many as fit a request.
func TestListsOfManyItems(t *testing.T) {
	var items []string
	for i := range 200_000 {
		items = append(items, fmt.Sprint(i), "0")
	}
	v, err := List.parse(strings.Join(items, ","))
	if err != nil || len(v.List) != 200_000 {
		t.Errorf("%d items, %v", len(v.List), err)
	}
}

// A setting that the other table has is not mistyped: its counterpart is meant, though other names may look more alike.
func TestASettingOfTheOtherTableNamesItsCounterpart(t *testing.T) {
	for name, want := range map[string]string{
		"log.retention.hours": "retention.ms", "log.retention.ms": "retention.ms", "log.retention.bytes": "retention.bytes",
		"log.roll.hours": "segment.ms", "message.max.bytes": "max.message.bytes", "log.cleanup.policy": "cleanup.policy",
		"log.flush.scheduler.interval.ms": "flush.ms",
	} {
		if got := Topics().Nearest(name); got != want {
			t.Errorf("%s of a topic: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"retention.ms": "log.retention.ms", "segment.bytes": "log.segment.bytes", "retention.bytez": "log.retention.bytes"} {
		if got := Brokers().Nearest(name); got != want {
			t.Errorf("%s of the broker: %q, want %q", name, got, want)
		}
	}
}
