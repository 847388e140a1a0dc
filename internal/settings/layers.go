package settings

import (
	"errors"
	"maps"
	"slices"
)

// Source says which layer a value comes from. The numbers are those of DescribeConfigs.
type Source int8

// The layers, from the one that wins to the last resort.
const (
	DynamicTopic         Source = 1
	DynamicBroker        Source = 2
	DynamicDefaultBroker Source = 3
	StaticBroker         Source = 4
	Default              Source = 5
)

// Layers holds the broker settings that were given, by who gave them. The zero value leaves every default.
type Layers struct {
	Static         map[string]string // by the operator: file, environment, flags
	DynamicDefault map[string]string // while running, for every broker
	DynamicBroker  map[string]string // while running, for this broker
}

// problemsMax is how many wrong settings are told of at a time: nobody reads more, and somebody may send them by the
// thousand.
const problemsMax = 20

// Check reports everything in values that is unknown or not allowed, one error for each, joined in the order of names.
func (t *Table) Check(values map[string]string) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(problems) == problemsMax {
			problems = append(problems, errors.New("and perhaps more"))
			break
		}
		if _, err := t.Parse(name, values[name]); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// layer returns what one layer holds. Default is not among them.
func (l Layers) layer(s Source) map[string]string {
	switch s {
	case DynamicBroker:
		return l.DynamicBroker
	case DynamicDefaultBroker:
		return l.DynamicDefault
	default:
		return l.Static
	}
}

// given returns the text of one setting in one layer, and whether the layer has it.
func (l Layers) given(d Def, s Source) (string, bool) {
	if s == Default {
		return d.Default, !d.Unset
	}
	text, ok := l.layer(s)[d.Name]
	return text, ok
}

var brokerSources = []Source{DynamicBroker, DynamicDefaultBroker, StaticBroker, Default}

// broker returns the value in force of one broker setting, looked up under its own name only. ok is false when it is
// null.
func (l Layers) broker(d Def) (v Value, ok bool, err error) {
	for _, s := range brokerSources {
		if text, found := l.given(d, s); found {
			v, err = d.Parse(text)
			return v, err == nil, err
		}
	}
	return Value{}, false, nil
}

// topic returns the value in force of one topic setting that has overrides on top of the broker's layers.
func (l Layers) topic(d Def, overrides map[string]string) (Value, error) {
	if text, ok := overrides[d.Name]; ok {
		return d.Parse(text)
	}
	if len(d.Synonyms) == 0 {
		return d.Parse(d.Default)
	}
	return l.standIn(d.Synonyms[0])
}

// standIn returns the value in force of a broker setting with its synonyms, in the unit of the finest of them.
func (l Layers) standIn(name string) (Value, error) {
	d, _ := brokerTable.Lookup(name)
	for _, synonym := range names(d) {
		other, _ := brokerTable.Lookup(synonym)
		v, ok, err := l.broker(other)
		if err != nil {
			return Value{}, err
		}
		if ok {
			return inMilliseconds(other, v), nil
		}
	}
	return Value{}, nil
}

// names returns the names under which a broker setting is looked for.
func names(d Def) []string {
	if len(d.Synonyms) == 0 {
		return []string{d.Name}
	}
	return d.Synonyms
}
