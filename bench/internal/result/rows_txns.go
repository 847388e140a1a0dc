package result

import "fmt"

// Shape is how many producers run transactions, and how many records each
// transaction has.
type Shape struct {
	Producers, Records int
}

// Shapes are those of the table.
func Shapes() []Shape {
	var all []Shape
	for _, producers := range []int{1, 8, 16} {
		for _, records := range []int{1, 100, 1000} {
			all = append(all, Shape{producers, records})
		}
	}
	return all
}

// ID is the shape's row of transactions a second.
func (s Shape) ID() string { return fmt.Sprintf("txn-%d-%d", s.Producers, s.Records) }

// CommitID is its row of one percentile ("p50" or "p99") of the commits.
func (s Shape) CommitID(percentile string) string { return s.ID() + "-commit-" + percentile }

// CPUID is its row of the broker's processor time.
func (s Shape) CPUID() string { return s.ID() + "-cpu" }

// ShareID is its row that compares with producing without transactions; only
// shapes of one producer have it.
func (s Shape) ShareID() string { return s.ID() + "-share" }

func (s Shape) title() string {
	return fmt.Sprintf("transactions of %s, %s", counted(s.Records, "record"), counted(s.Producers, "producer"))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", thousands(int64(n)), what)
}

// rateKind tells rows apart whose bars differ.
func (s Shape) rateKind() Kind {
	switch s.Producers {
	case 1:
		return Txn1Rate
	case 8:
		return Txn8Rate
	}
	return TxnRate
}

// Foreign are the clients of other languages that run transactions, too: Kafka's own and librdkafka's.
func Foreign() []string { return []string{"java", "librdkafka"} }

// foreignTitle is a client's name in the table.
func foreignTitle(client string) string {
	if client == "java" {
		return "Java"
	}
	return client
}

// ForeignShapes are those that they run.
func ForeignShapes() []Shape { return []Shape{{1, 1}, {8, 100}} }

// ForeignID is the row of a client's transactions a second, and the phase.
func (s Shape) ForeignID(client string) string { return client + "-" + s.ID() }

// ForeignCommitID is its row of one percentile of the commits.
func (s Shape) ForeignCommitID(client, percentile string) string {
	return client + "-" + s.CommitID(percentile)
}

// Pace is how many transactions a second each producer of the paced rows begins:
// a rate that every broker can keep up with, so that all have the same to do.
const Pace = 20

// PacedShapes are those whose commits are measured at that rate, too.
func PacedShapes() []Shape { return []Shape{{1, 1}, {8, 1}, {8, 100}} }

// PacedID is the phase of a paced shape, and the prefix of its rows.
func (s Shape) PacedID() string { return "paced-" + s.ID() }

// PacedCommitID is its row of one percentile of the commits.
func (s Shape) PacedCommitID(percentile string) string { return "paced-" + s.CommitID(percentile) }

// Committed is the client of the rows that read committed records only.
const Committed = "go-committed"

// transactions are the rows of transactions.
func transactions() []Row {
	var rows []Row
	for _, s := range Shapes() {
		rows = append(rows,
			Row{s.ID(), s.title(), "/s", s.rateKind()},
			Row{s.CommitID("p50"), s.title() + ": commit, p50", "ms", TxnCommitMedian},
			Row{s.CommitID("p99"), s.title() + ": commit, p99", "ms", TxnCommitP99},
			Row{s.CPUID(), s.title() + ": broker CPU per million", "s", TxnCPU})
		if s.Producers == 1 {
			rows = append(rows, Row{s.ShareID(), s.title() + ": of the rate without", "%", TxnShare})
		}
	}
	for _, client := range Foreign() {
		for _, s := range ForeignShapes() {
			title := s.title() + ", " + foreignTitle(client)
			rows = append(rows,
				Row{s.ForeignID(client), title, "/s", s.rateKind()},
				Row{s.ForeignCommitID(client, "p50"), title + ": commit, p50", "ms", TxnCommitMedian},
				Row{s.ForeignCommitID(client, "p99"), title + ": commit, p99", "ms", TxnCommitP99})
		}
	}
	for _, s := range PacedShapes() {
		at := fmt.Sprintf("%s, each %d/s: commit, ", s.title(), Pace)
		rows = append(rows, Row{s.PacedCommitID("p50"), at + "p50", "ms", TxnCommitMedian}, Row{s.PacedCommitID("p99"), at + "p99", "ms", TxnCommitP99})
	}
	title := "consume 100 B, franz-go, committed only"
	return append(rows,
		Row{RateID(Committed, "consume", 100), title, "k/s", ConsumeRate},
		Row{CPUID(Committed, "consume", 100), title + ": broker CPU per million", "s", ConsumeCPU})
}
