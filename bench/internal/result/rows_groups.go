package result

import "fmt"

// Crew is how many connections commit offsets, and how many commits each has
// in flight.
type Crew struct {
	Connections, InFlight int
}

// Crews are those of the table.
func Crews() []Crew { return []Crew{{Connections: 100, InFlight: 1}, {Connections: 10, InFlight: 20}} }

// ID is the crew's row of commits a second.
func (c Crew) ID() string { return fmt.Sprintf("commits-%dx%d", c.Connections, c.InFlight) }

// CPUID is its row of the broker's processor time.
func (c Crew) CPUID() string { return c.ID() + "-cpu" }

// StormMembers is how many members join at once.
const StormMembers = 1000

// Identifiers of the rows of members.
const (
	HeartbeatCPUID     = "heartbeats-cpu"
	StormTimeID        = "storm-time"
	StormGenerationsID = "storm-generations"
	StormCPUID         = "storm-cpu"
)

// groups are the rows of the group coordinator.
func groups() []Row {
	var rows []Row
	for _, c := range Crews() {
		title := fmt.Sprintf("commits of offsets, %d connections × %d", c.Connections, c.InFlight)
		rows = append(rows,
			Row{c.ID(), title, "k/s", CommitRate},
			Row{c.CPUID(), title + ": broker CPU per million", "s", CommitCPU})
	}
	storm := fmt.Sprintf("%s members join at once", thousands(StormMembers))
	return append(rows,
		Row{HeartbeatCPUID, "heartbeats: broker CPU per million", "s", HeartbeatCPU},
		Row{StormTimeID, storm + ": until stable", "s", StormTime},
		Row{StormGenerationsID, storm + ": generations", "", StormGenerations},
		Row{StormCPUID, storm + ": broker CPU", "s", StormCPU})
}
