package settings

import (
	"math"
	"strconv"
	"strings"
)

// Entry is one setting with its value in force and where that comes from.
type Entry struct {
	Def      Def
	Value    string
	Null     bool // there is no value, or it must not be shown
	Source   Source
	Synonyms []Synonym // every value that was found, the one that counts first
}

// Synonym is a value that was found for a setting, under the name and in the layer where it was found.
type Synonym struct {
	Name   string
	Value  string
	Null   bool // it must not be shown
	Source Source
}

// DescribeBroker returns every broker setting, sorted by name.
func DescribeBroker(l Layers) []Entry {
	entries := make([]Entry, 0, len(brokerTable.defs))
	for _, d := range brokerTable.defs {
		v, ok, err := l.broker(d)
		e := Entry{Def: d, Value: v.Text, Null: !ok || err != nil || d.Sensitive, Synonyms: l.synonyms(d.Name)}
		entries = append(entries, e.sourced())
	}
	return entries
}

// DescribeDynamicDefault returns the broker settings that were changed for all brokers while they ran.
func DescribeDynamicDefault(l Layers) []Entry {
	var entries []Entry
	for _, d := range brokerTable.defs {
		if text, ok := l.DynamicDefault[d.Name]; ok {
			s := Synonym{Name: d.Name, Value: text, Null: d.Sensitive, Source: DynamicDefaultBroker}
			entries = append(entries, Entry{Def: d, Value: text, Null: d.Sensitive, Source: s.Source, Synonyms: []Synonym{s}})
		}
	}
	return entries
}

// DescribeTopic returns every topic setting of a topic with these overrides, sorted by name.
func DescribeTopic(l Layers, overrides map[string]string) []Entry {
	entries := make([]Entry, 0, len(topicTable.defs))
	for _, d := range topicTable.defs {
		v, err := l.topic(d, overrides)
		e := Entry{Def: d, Value: v.Text, Null: err != nil || d.Sensitive, Synonyms: l.topicSynonyms(d, overrides)}
		entries = append(entries, e.sourced())
	}
	return entries
}

// sourced fills in the source, that of the first synonym.
func (e Entry) sourced() Entry {
	e.Source = Default
	if len(e.Synonyms) > 0 {
		e.Source = e.Synonyms[0].Source
	}
	return e
}

func (l Layers) topicSynonyms(d Def, overrides map[string]string) []Synonym {
	var found []Synonym
	if _, ok := overrides[d.Name]; ok {
		v, _ := l.topic(d, overrides)
		found = append(found, Synonym{Name: d.Name, Value: v.Text, Null: d.Sensitive, Source: DynamicTopic})
	}
	if len(d.Synonyms) > 0 {
		found = append(found, l.synonyms(d.Synonyms[0])...)
	}
	return found
}

// synonyms lists what was found for a broker setting and its synonyms, layer by layer. As in Kafka, the list begins
// with the first that has the name itself: what was found before under another name is left out, all of it when the
// name itself was never found.
func (l Layers) synonyms(name string) []Synonym {
	d, _ := brokerTable.Lookup(name)
	var found []Synonym
	for _, s := range brokerSources {
		for _, n := range names(d) {
			other, _ := brokerTable.Lookup(n)
			text, ok := l.given(other, s)
			if ok && (len(found) > 0 || n == name) {
				found = append(found, Synonym{Name: n, Value: text, Null: other.Sensitive, Source: s})
			}
		}
	}
	return found
}

// inMilliseconds converts a time whose name says that it is in minutes or hours; other values stay.
func inMilliseconds(d Def, v Value) Value {
	unit := int64(1)
	switch {
	case strings.HasSuffix(d.Name, ".hours"):
		unit = 3_600_000
	case strings.HasSuffix(d.Name, ".minutes"):
		unit = 60_000
	}
	if unit == 1 || v.Number < 0 {
		return v
	}
	return whole(times(v.Number, unit))
}

// times multiplies two counts and stops at the largest number.
func times(a, b int64) int64 {
	if a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

func whole(n int64) Value { return Value{Text: strconv.FormatInt(n, 10), Number: n} }
