package settings

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Value is a parsed value: its canonical text and what it means.
type Value struct {
	Text   string // as DescribeConfigs shows it
	Number int64  // of Int and Long
	Real   float64
	Truth  bool
	List   []string
}

// items returns the items of a list, and any other value as a list of one.
func (v Value) items() []string {
	if v.List == nil {
		return []string{v.Text}
	}
	return v.List
}

// UnknownError says that no setting has this name.
type UnknownError struct {
	Kind    string // "topic" or "broker"
	Name    string
	Nearest string // what was probably meant, or ""
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("Unknown %s config name: %s", e.Kind, e.Name)
	if e.Nearest != "" {
		text += fmt.Sprintf(" (did you mean %s?)", e.Nearest)
	}
	return text
}

// InvalidError says that a value is not allowed for its setting.
type InvalidError struct {
	Name, Value string
	Reason      string // what is wrong
	Valid       string // what would be right, or ""
}

func (e *InvalidError) Error() string {
	text := fmt.Sprintf("Invalid value %s for configuration %s: %s", e.Value, e.Name, e.Reason)
	if e.Valid != "" {
		text += fmt.Sprintf(" (valid: %s)", e.Valid)
	}
	return text
}

// Parse reads text as a value of this setting, as Kafka does: blanks around it are dropped.
func (d Def) Parse(text string) (Value, error) {
	v, err := d.Type.parse(strings.TrimSpace(text))
	if err == nil && d.Valid != nil {
		err = d.Valid.Check(v)
	}
	if err != nil {
		return Value{}, &InvalidError{Name: d.Name, Value: strings.TrimSpace(text), Reason: err.Error(), Valid: d.ValidText()}
	}
	return v, nil
}

// ValidText says in words which values are allowed.
func (d Def) ValidText() string {
	if d.Valid != nil {
		return d.Valid.String()
	}
	switch d.Type {
	case Boolean:
		return "true or false"
	case Int:
		return "a whole number of 32 bits"
	case Long:
		return "a whole number of 64 bits"
	case Double:
		return "a number"
	default:
		return ""
	}
}

func (t Type) parse(text string) (Value, error) {
	switch t {
	case Boolean:
		return parseBoolean(text)
	case Int:
		return parseWhole(text, 32, "INT")
	case Long:
		return parseWhole(text, 64, "LONG")
	case Double:
		return parseReal(text)
	case List:
		return parseList(text)
	default:
		return Value{Text: text}, nil
	}
}

func parseBoolean(text string) (Value, error) {
	switch strings.ToLower(text) {
	case "true":
		return Value{Text: "true", Truth: true}, nil
	case "false":
		return Value{Text: "false"}, nil
	default:
		return Value{}, errors.New("expected value to be either true or false")
	}
}

func parseWhole(text string, bits int, name string) (Value, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return Value{}, fmt.Errorf("not a number of type %s", name)
	}
	return Value{Text: strconv.FormatInt(n, 10), Number: n}, nil
}

func parseReal(text string) (Value, error) {
	r, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(r) {
		return Value{}, errors.New("not a number of type DOUBLE")
	}
	return Value{Text: formatReal(r), Real: r}, nil
}

// formatReal writes r as Java does, since that is the text that admin tools of Kafka know: 0.5, 1.0E-5.
func formatReal(r float64) string {
	size := math.Abs(r)
	if size != 0 && (size < 1e-3 || size >= 1e7) {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(r, 'E', -1, 64), "E")
		n, _ := strconv.Atoi(exponent)
		return withPoint(mantissa) + "E" + strconv.Itoa(n)
	}
	return withPoint(strconv.FormatFloat(r, 'f', -1, 64))
}

func withPoint(digits string) string {
	if strings.Contains(digits, ".") || strings.Contains(digits, "Inf") {
		return digits
	}
	return digits + ".0"
}

// parseList splits at commas. An item that is named twice counts once; an empty item is an error.
func parseList(text string) (Value, error) {
	if text == "" {
		return Value{}, nil
	}
	var items []string
	seen := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			return Value{}, errors.New("values must not be empty")
		}
		if !seen[item] {
			seen[item] = true
			items = append(items, item)
		}
	}
	return Value{Text: strings.Join(items, ","), List: items}, nil
}
