// Package settings is the one place that knows every setting: its name, type, range, default, meaning, and whether it
// may be changed while the broker runs. There are two tables, one for the broker and one for topics. From them come the
// reading of configuration files, environment and flags, the answers of DescribeConfigs, the texts of --help and the
// reference page in docs/reference.
//
// A value is looked for in layers: what the topic itself was given, what was given to this broker while it ran, what
// was given to all brokers while they ran, what the operator configured at the start, and last the default. Resolve
// turns the layers into a struct of typed fields; Describe tells where each value came from.
//
// Names, ranges and defaults are Kafka's wherever Kafka has the setting; ours begin with "skein.". Durations are whole
// milliseconds and sizes are bytes unless the name says otherwise. The package is pure: it reads no file, no
// environment and no clock.
package settings

import (
	"slices"
	"strings"

	"github.com/skeinstream/skein/internal/nearest"
)

// Type is the kind of a value. The numbers are those of DescribeConfigs.
type Type int8

// The types of values.
const (
	Boolean Type = 1
	String  Type = 2
	Int     Type = 3 // 32 bits
	Long    Type = 5 // 64 bits
	Double  Type = 6
	List    Type = 7 // separated by commas
)

// String returns the name of the type as the documentation prints it.
func (t Type) String() string {
	switch t {
	case Boolean:
		return "boolean"
	case String:
		return "string"
	case Int:
		return "int"
	case Long:
		return "long"
	case Double:
		return "double"
	case List:
		return "list"
	default:
		return "unknown"
	}
}

// Def defines one setting.
type Def struct {
	Name    string
	Group   string // heading under which it is documented
	Type    Type
	Default string // canonical text; without meaning when Unset
	Unset   bool   // it has no default: the value is null until somebody gives one
	Valid   Rule   // which values of the type are allowed; nil allows all
	Doc     string // what it does, in one or a few sentences

	// Dynamic says that it may be changed while the broker runs. Every topic setting is dynamic.
	Dynamic bool
	// Sensitive values are never shown.
	Sensitive bool

	// Synonyms names broker settings whose value stands in when this one has none, first the one that wins. In the topic
	// table the first is the broker's setting of the same meaning; in the broker table they are the same time in other
	// units.
	Synonyms []string
}

// Table is a fixed set of definitions. It may be shared.
type Table struct {
	kind   string
	defs   []Def // sorted by name
	byName map[string]int
	groups []string // the headings, in the order in which the tables' source has them
}

const topicKind, brokerKind = "topic", "broker"

func newTable(kind string, groups ...[]Def) *Table {
	t := &Table{kind: kind, defs: slices.Concat(groups...), byName: map[string]int{}}
	for _, d := range t.defs {
		if !slices.Contains(t.groups, d.Group) {
			t.groups = append(t.groups, d.Group)
		}
	}
	for i := range t.defs {
		t.defs[i].Dynamic = t.defs[i].Dynamic || kind == topicKind
	}
	slices.SortFunc(t.defs, func(a, b Def) int { return strings.Compare(a.Name, b.Name) })
	for i, d := range t.defs {
		t.byName[d.Name] = i
	}
	return t
}

var (
	topicTable  = newTable(topicKind, logSettings(), compactionSettings(), otherTopicSettings())
	brokerTable = newTable(brokerKind, nodeSettings(), connectionSettings(), newTopicSettings(), groupSettings(), transactionSettings(), storageSettings(), topicDefaultSettings())
)

// Topics returns the table of topic settings.
func Topics() *Table { return topicTable }

// Brokers returns the table of broker settings.
func Brokers() *Table { return brokerTable }

// All returns the definitions, sorted by name. The slice must not be changed.
func (t *Table) All() []Def { return t.defs }

// Lookup returns the definition of name.
func (t *Table) Lookup(name string) (Def, bool) {
	i, ok := t.byName[name]
	if !ok {
		return Def{}, false
	}
	return t.defs[i], true
}

// Nearest returns the name in the table that name was most likely meant to be, or "" when none is near. What the other
// table calls by that name is it, whatever else looks alike.
func (t *Table) Nearest(name string) string {
	if same := t.counterpart(name); same != "" {
		return same
	}
	names := make([]string, len(t.defs))
	for i, d := range t.defs {
		names[i] = d.Name
	}
	return nearest.Name(name, names)
}

// counterpart is the setting of this table that has the meaning of one of the other table, or "".
func (t *Table) counterpart(name string) string {
	if t.kind == brokerKind {
		if d, ok := topicTable.Lookup(name); ok && len(d.Synonyms) > 0 {
			return d.Synonyms[0]
		}
		return ""
	}
	others := []string{name}
	if d, ok := brokerTable.Lookup(name); ok {
		others = append(others, d.Synonyms...) // the same time in other units
	}
	for _, d := range t.defs {
		if len(d.Synonyms) > 0 && slices.Contains(others, d.Synonyms[0]) {
			return d.Name
		}
	}
	return ""
}

// Parse reads the text of a value. The error is an *UnknownError or an *InvalidError.
func (t *Table) Parse(name, text string) (Value, error) {
	d, ok := t.Lookup(name)
	if !ok {
		return Value{}, &UnknownError{Kind: t.kind, Name: name, Nearest: t.Nearest(name)}
	}
	return d.Parse(text)
}

// EnvName returns the environment variable that sets the broker setting name: num.partitions is SKEIN_NUM_PARTITIONS,
// skein.durability is SKEIN_DURABILITY.
func EnvName(name string) string {
	name = strings.TrimPrefix(name, "skein.")
	return "SKEIN_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// FlagName returns the command-line flag that sets the broker setting name: num.partitions is num-partitions,
// skein.durability is durability.
func FlagName(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "skein."), ".", "-")
}
