package group

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/skeinstream/skein/internal/scripts"
)

// elsewhere are the rules about groups that no script of the coordinator can show, with the tests that do.
var elsewhere = map[string]string{
	"R-D14":  "../../broker/internal/coordinator/failure_test.go: TestAFailedAppendAnswersEverybody",
	"FR-B10": "../../broker/groups_scale_test.go: TestAVastGroupIsStableAndDescribed",
	"FR-C13": "../../broker/groups_members_test.go: TestCommittedOffsetsAreReadAtOnce",
	"FR-C18": "../../cli/internal/groups/lag_test.go: TestLagIsWorkThatCanBeDone",
	"FR-C21": "../../broker/groups_test.go: TestTheNumberOfPartitionsOfGroupsStays",
	// These are the consumer's to keep.
	"FR-B4":  "../../consumer/commit_test.go: TestCommitsDuringRebalances",
	"FR-B19": "../../consumer/life_test.go: TestKeptPartitionsFlow",
	"FR-C3":  "../../consumer/commit_test.go: TestAutoCommit",
	"FR-C4":  "../../consumer/commit_test.go: TestCommitOfWhatIsNotOwned",
	"FR-C8":  "../../consumer/commit_test.go: TestNothingIsReadTwice",
	"FR-C9":  "../../consumer/parallel/lives_test.go: TestManyShortLives",
	"FR-C10": "../../consumer/parallel/work_test.go: TestCommitsInARebalanceAreNoErrors",
	"FR-C12": "../../consumer/parallel/rebalance_test.go: TestPartitionsMoveWithoutALossOrARepeat",
	"FR-C15": "../../consumer/life_test.go: TestRegainedPartitionsBeginAtTheCommit",
	"FR-C16": "../../consumer/commit_test.go: TestAutoCommitOfTheBeginning",
	"FR-C19": "../../consumer/commit_test.go: TestManualCommit",
}

// TestEveryRuleOfGroupsHasAScript: each row of section D of docs/requirements.md, and each report from the field about
// rebalances, offsets and static members, is cited by a script, or there is another test.
func TestEveryRuleOfGroupsHasAScript(t *testing.T) {
	page, err := os.ReadFile("../../docs/requirements.md")
	if err != nil {
		t.Fatal(err)
	}
	cited := map[string]bool{}
	for _, dir := range []string{"testdata/members", "testdata/offsets"} {
		for _, f := range scripts.Files(t, dir) {
			for _, rule := range regexp.MustCompile(`\b(?:R-D|FR-[BCG])\d+\b`).FindAllString(f.Text, -1) {
				cited[rule] = true
			}
		}
	}
	for _, rule := range rulesOfGroups(string(page)) {
		where, other := elsewhere[rule]
		if !cited[rule] && !other {
			t.Errorf("no script cites %s", rule)
		}
		if other {
			if err := hasTest(where); err != nil {
				t.Errorf("%s: %v", rule, err)
			}
		}
	}
}

// rulesOfGroups are the first cells of their rows; "D15, D16" are two.
func rulesOfGroups(page string) (rules []string) {
	for _, line := range strings.Split(page, "\n") {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, rule := range strings.Split(cell, ", ") {
			switch {
			case rule == "D25": // there are no groups of the new protocol yet
			case regexp.MustCompile(`^D\d+$`).MatchString(rule):
				rules = append(rules, "R-"+rule)
			case regexp.MustCompile(`^FR-[BCG]\d+$`).MatchString(rule):
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// hasTest reads "file: Test".
func hasTest(where string) error {
	file, name, _ := strings.Cut(where, ": ")
	text, err := os.ReadFile(file)
	if err == nil && !strings.Contains(string(text), "func "+name+"(") {
		err = fmt.Errorf("%s has no %s", file, name)
	}
	return err
}
