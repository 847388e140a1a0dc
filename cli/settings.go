package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/internal/settings"
)

// settingDoc is a setting for programs.
type settingDoc struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"` // broker or topic
	Group    string   `json:"group"`
	Type     string   `json:"type"`
	Default  *string  `json:"default"` // null: none
	Valid    string   `json:"valid,omitempty"`
	Dynamic  bool     `json:"dynamic"`
	Synonyms []string `json:"synonyms,omitempty"`
	Env      string   `json:"env,omitempty"`
	Flag     string   `json:"flag,omitempty"`
	Doc      string   `json:"doc"`
}

func newSettings(a *app) *cobra.Command {
	var topic, broker bool
	cmd := &cobra.Command{
		Use:   "settings [NAME…]",
		Short: "List and explain the settings of brokers and topics",
		Long: `List the settings of brokers (for serve) and topics (for topic create and alter),
or explain those that are named.`,
		Example: `skein settings --topic
skein settings retention.ms log.retention.hours`,
		ValidArgsFunction: completeSettings,
	}
	cmd.Flags().BoolVar(&topic, "topic", false, "only settings of topics")
	cmd.Flags().BoolVar(&broker, "broker", false, "only settings of brokers")
	cmd.RunE = func(_ *cobra.Command, names []string) error {
		docs, err := chooseSettings(names, broker || !topic, topic || !broker)
		if err != nil {
			return err
		}
		return a.print(docs, func(w io.Writer) {
			if len(names) > 0 {
				explainSettings(w, docs)
				return
			}
			listSettings(w, docs)
		})
	}
	return cmd
}

func completeSettings(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, d := range settingDocs(true, true) {
		names = append(names, d.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func settingDocs(broker, topic bool) []settingDoc {
	var docs []settingDoc
	if broker {
		for _, d := range settings.Brokers().All() {
			doc := newSettingDoc("broker", d)
			doc.Env, doc.Flag = settings.EnvName(d.Name), "--"+settings.FlagName(d.Name)
			docs = append(docs, doc)
		}
	}
	if topic {
		for _, d := range settings.Topics().All() {
			docs = append(docs, newSettingDoc("topic", d))
		}
	}
	return docs
}

func newSettingDoc(kind string, d settings.Def) settingDoc {
	doc := settingDoc{
		Name: d.Name, Kind: kind, Group: d.Group, Type: d.Type.String(), Valid: d.ValidText(),
		Dynamic: d.Dynamic || kind == "topic", Synonyms: d.Synonyms, Doc: d.Doc,
	}
	if !d.Unset {
		doc.Default = &d.Default
	}
	return doc
}

func chooseSettings(names []string, broker, topic bool) ([]settingDoc, error) {
	all := settingDocs(broker, topic)
	if len(names) == 0 {
		return all, nil
	}
	chosen := []settingDoc{}
	for _, name := range names {
		found := false
		for _, d := range all {
			if d.Name == name {
				chosen, found = append(chosen, d), true
			}
		}
		if !found {
			return nil, unknownSetting(name, all)
		}
	}
	return chosen, nil
}

func unknownSetting(name string, all []settingDoc) error {
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	return problem.Usage(problem.DidYouMean(name, names), "there is no setting %q", name)
}

func listSettings(w io.Writer, docs []settingDoc) {
	t := newTable(w, "SETTING", "OF", "TYPE", "DEFAULT", "CHANGES")
	for _, d := range docs {
		t.row(d.Name, d.Kind, d.Type, d.defaultText(), d.changes())
	}
	t.flush()
}

func (d settingDoc) defaultText() string {
	switch {
	case d.Default == nil:
		return "none"
	case *d.Default == "":
		return "empty"
	}
	return *d.Default
}

func (d settingDoc) changes() string {
	if d.Dynamic {
		return "while running"
	}
	return "at start"
}

func explainSettings(w io.Writer, docs []settingDoc) {
	for i, d := range docs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s (%s setting, %s)\n  %s\n  default: %s\n", d.Name, d.Kind, d.Type, d.Doc, d.defaultText())
		if d.Valid != "" {
			fmt.Fprintf(w, "  valid: %s\n", d.Valid)
		}
		if len(d.Synonyms) > 0 {
			fmt.Fprintf(w, "  synonyms: %s\n", strings.Join(d.Synonyms, ", "))
		}
		if d.Env != "" {
			fmt.Fprintf(w, "  set it with: --set %s=…, %s, %s\n", d.Name, d.Flag, d.Env)
		}
		fmt.Fprintf(w, "  can be changed: %s\n", d.changes())
	}
}
