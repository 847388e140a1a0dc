package transcript

import (
	"reflect"
	"strings"
	"testing"
)

func TestSessionsAreFound(t *testing.T) {
	got, err := Parse(strings.Join([]string{
		"text", "```console", "$ skein topic create a  # a remark", "created topic a", "", "$ skein consume a --group g &", "```",
		"```", "$ not a session", "```", "```console on kafka", "$ skein version", "skein …", "  more", "```",
	}, "\n"))
	want := []Session{
		{Line: 2, Steps: []Step{{Line: 3, Command: "skein topic create a", Prints: []string{"created topic a"}}, {Line: 6, Command: "skein consume a --group g", Background: true}}},
		{Title: "on kafka", Line: 11, Steps: []Step{{Line: 12, Command: "skein version", Prints: []string{"skein …", "more"}}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Parse("```console\noutput\n```"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v: output of nothing", err)
	}
}

func TestOutputIsCompared(t *testing.T) {
	const out = "Group:  g\nState:  Stable\n  m-1 offers range, and more\n"
	for prints, missing := range map[string]string{
		"Group:  g":                 "",
		"Group:  g\nm-1 … range, …": "",
		"…":                         "",
		"State:  Stable\nGroup:  g": "Group:  g",
		"Group:":                    "Group:",
		"m-1 … sticky, …":           "m-1 … sticky, …",
		"Group:  g…":                "",
		"m-… offers … and more":     "",
		"m-… offers … and":          "m-… offers … and",
		"Group:  g\nGroup:  g":      "Group:  g",
	} {
		if got := (Step{Prints: strings.Split(prints, "\n")}).Missing(out); got != missing {
			t.Errorf("%q: %q is missing, want %q", prints, got, missing)
		}
	}
}
