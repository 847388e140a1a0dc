package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/magiconair/properties"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// fileLayer reads the settings file at path; an empty path says nothing. In
// YAML and TOML, names may be nested at their dots.
func fileLayer(path string) (serveLayer, error) {
	layer := serveLayer{settings: map[string]string{}}
	if path == "" {
		return layer, nil
	}
	parser, err := settingsParser(path)
	if err != nil {
		return layer, err
	}
	k := koanf.New(".")
	if err := k.Load(file.Provider(path), parser); err != nil {
		return layer, problem.Usage("", "reading the settings file %s: %w", path, err)
	}
	values := k.All()
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		known, err := layer.set(strings.ReplaceAll(name, "log_", "log-"), settingText(name, values[name]))
		if err != nil {
			return layer, err
		}
		if !known {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return layer, unknownSettings(path, unknown)
	}
	return layer, nil
}

func settingsParser(path string) (koanf.Parser, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".properties":
		return propertiesParser{}, nil
	case ".yaml", ".yml":
		return yaml.Parser(), nil
	case ".toml":
		return toml.Parser(), nil
	}
	return nil, problem.Usage("call it .properties, .yaml or .toml", "the settings file %s has no form that is known", path)
}

// settingText is a value as it would stand on the command line. The items of
// a list are joined with commas, as Kafka writes lists; listeners of ours hold
// commas and are joined with blanks.
func settingText(name string, value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	words := make([]string, len(list))
	for i, item := range list {
		words[i] = fmt.Sprint(item)
	}
	if name == keyListen {
		return strings.Join(words, " ")
	}
	return strings.Join(words, ",")
}

// propertiesParser reads Java's properties files, as Kafka's server.properties
// is one. ${…} stands for itself, as it does for Kafka.
type propertiesParser struct{}

func (propertiesParser) Unmarshal(b []byte) (map[string]any, error) {
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	p, err := loader.LoadBytes(b)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for name, value := range p.Map() {
		out[name] = value
	}
	return out, nil
}

func (propertiesParser) Marshal(map[string]any) ([]byte, error) {
	return nil, fmt.Errorf("properties files are only read")
}
