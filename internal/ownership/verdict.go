package ownership

import "time"

// Verdict is what a history comes to.
type Verdict struct {
	Partitions  []Partition `json:"partitions"`
	Phases      []Phase     `json:"phases"`
	Generations int         `json:"generations"` // different ones that were seen
	Records     int64       `json:"records"`     // that were handled, each counted once
	Duplicates  int64       `json:"duplicates"`  // records that were handled again
	Overlaps    int64       `json:"overlaps"`
	Lost        int64       `json:"lost"`
	Commits     int64       `json:"commits"` // that were accepted of members
	Refused     int64       `json:"refused"` // offsets that were not accepted, one a partition
	Wrongs      []string    `json:"wrongs"`  // what must not be; none: the history is good
}

// Good says that nothing is wrong.
func (v Verdict) Good() bool { return len(v.Wrongs) == 0 }

// Partition is what a history was for one partition.
type Partition struct {
	ID      int32 `json:"partition"`
	Records int64 `json:"records"`
	// Stops counts how often it went from an owner to the next, or back to the same; a stop lasts from the last record that was
	// handled before to the first one after. Stopped is the sum of them, in nanoseconds as JSON, Longest the longest.
	Stops   int           `json:"stops"`
	Stopped time.Duration `json:"stopped_ns"`
	Longest time.Duration `json:"longest_stop_ns"`
	// Pause is the longest time between two records while the owner stayed.
	Pause      time.Duration `json:"longest_pause_ns"`
	Duplicates int64         `json:"duplicates"`
	Overlaps   int64         `json:"overlaps"`
	Lost       int64         `json:"lost"`
}

// Phase is what a history was from one Began to the next.
type Phase struct {
	Name        string        `json:"phase"`
	Clean       bool          `json:"clean"`
	Took        time.Duration `json:"took_ns"`
	Generations int           `json:"generations"` // that began in it
	Duplicates  int64         `json:"duplicates"`
	Stopped     int           `json:"partitions_stopped"` // how many partitions stopped at least once
	Longest     time.Duration `json:"longest_stop_ns"`
	Assignor    string        `json:"assignor"` // of the newest generation at its end

	limit   int32
	began   time.Time
	stopped map[int32]bool
}
