package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// merged reads the results of several runs and takes, of each implementation in
// each scenario, the sample in the middle. Ratios between peers stay those of one
// machine; a run that others disturbed is outvoted.
func merged(names []string) ([]row, error) {
	var rows []row
	samples := map[[2]string][]sample{}
	for _, name := range names {
		more, err := readJSON(name)
		if err != nil {
			return nil, err
		}
		for _, r := range more {
			for peer, s := range r.Samples {
				key := [2]string{r.Scenario, peer}
				samples[key] = append(samples[key], s)
			}
			rows = add(rows, r)
		}
	}
	for _, r := range rows {
		for peer := range r.Samples {
			r.Samples[peer] = middle(samples[[2]string{r.Scenario, peer}])
		}
	}
	order := map[string]int{}
	for i, s := range scenarios() {
		order[s.name] = i
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(order[a.Scenario], order[b.Scenario]) })
	return rows, nil
}

func readJSON(name string) ([]row, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var rows []row
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return rows, nil
}

// add adds a row, or what it has of peers that the row of its scenario lacks.
func add(rows []row, r row) []row {
	i := slices.IndexFunc(rows, func(x row) bool { return x.Scenario == r.Scenario })
	if i < 0 {
		return append(rows, r)
	}
	for peer, s := range r.Samples {
		if had, ran := rows[i].Samples[peer]; ran && had.Err == "" {
			continue
		}
		rows[i].Samples[peer] = s
		if score, scored := r.Scores[peer]; scored {
			rows[i].Scores[peer] = score
			if finding, bad := r.Optimal[peer]; bad {
				rows[i].Optimal[peer] = finding
			}
		}
	}
	return rows
}

// middle returns the sample with the middle best time of those that have one.
func middle(all []sample) sample {
	done := slices.DeleteFunc(slices.Clone(all), func(s sample) bool { return s.Err != "" })
	if len(done) == 0 {
		return all[0]
	}
	slices.SortFunc(done, func(a, b sample) int { return cmp.Compare(a.Best, b.Best) })
	return done[len(done)/2]
}
