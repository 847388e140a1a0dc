package differential

import (
	"regexp"
	"slices"
	"strings"
)

// allowance is a difference that is wanted. Nothing else may differ.
type allowance struct {
	request string // the request's name; "" is any
	step    string // pattern found in the step's text
	path    string // pattern of the line's path, whole
	kafka   string // pattern of Kafka's value, whole
	target  string // pattern of ours, whole
	// reason is a piece of the line of docs/differences.md that tells it.
	reason string
	// element allows everything else of the same array element too.
	element bool
	// diverges says that the two logs are not alike afterwards, which ends the
	// case.
	diverges bool
}

func (a allowance) matches(s step, d difference) bool {
	request, _, _ := strings.Cut(s.text, " ")
	return (a.request == "" || a.request == request) && (a.step == "" || regexp.MustCompile(a.step).MatchString(s.text)) &&
		whole(a.path, d.path) && whole(a.kafka, d.kafka) && whole(a.target, d.target)
}

func whole(pattern, text string) bool {
	return pattern == "" || regexp.MustCompile("^(?:"+pattern+")$").MatchString(text)
}

// elementOf is the part of a path that names its last array element.
func elementOf(path string) string { return path[:strings.LastIndexByte(path, ']')+1] }

// notAllowed returns the differences that are not wanted, and whether wanted
// ones leave the logs unlike.
func (p *pair) notAllowed(s step, all []difference) (left []difference, diverged bool) {
	elements := make(map[string]bool)
	for _, d := range all {
		allowed := false
		for _, a := range p.allowed {
			if a.matches(s, d) {
				allowed, diverged = true, diverged || a.diverges
				if a.element {
					elements[elementOf(d.path)] = true
				}
			}
		}
		if !allowed {
			left = append(left, d)
		}
	}
	kept := left[:0]
	for _, d := range left {
		if !within(elements, d.path) {
			kept = append(kept, d)
		}
	}
	return kept, diverged
}

func (p *pair) filtered(s step, all []difference) []difference {
	left, _ := p.notAllowed(s, all)
	return left
}

func within(elements map[string]bool, path string) bool {
	for e := range elements {
		if strings.HasPrefix(path, e) {
			return true
		}
	}
	return false
}

// wanted are the differences between Kafka and Skein.
func wanted() []allowance {
	return slices.Concat(wantedElsewhere(), wantedAboutGroups(), wantedAboutTransactions())
}

func wantedElsewhere() []allowance {
	const produced = `\.Topics\[.*\]\.Partitions\[.*\]`
	return []allowance{
		{path: `.*ErrorMessage(#\d+)?`, kafka: `null|empty`, target: `some text`, reason: "Texts of error messages are our own throughout"},
		{request: "ApiVersions", path: `\.ApiKeys\[\d+\]\..*`, target: `\(absent\)`, reason: "What is not there yet"},
		{request: "ApiVersions", path: `\.(SupportedFeatures|FinalizedFeatures).*`, reason: "Of Kafka's features ApiVersions announces"},
		{path: `.*\.Configs\[skein\..*`, kafka: `\(absent\)`, reason: "`skein.durability` and `skein.validate.compressed`"},
		{step: `broker setting min\.insync\.replicas`, path: `source|synonym.*`, reason: "`min.insync.replicas` has the source DEFAULT_CONFIG"},
		{step: `broker setting queued\.max\.request\.bytes`, path: `value|synonym`, reason: "`queued.max.request.bytes` 64 MiB"},
		{path: `.*\[min\.insync\.replicas\].*(Source.*|Synonyms.*)`, reason: "`min.insync.replicas` has the source DEFAULT_CONFIG"},
		{request: "DescribeLogDirs", path: `.*` + reencoded + `.*\.Size`, reason: "A batch that is re-encoded for `compression.type`"},
		{request: "Metadata", step: `auto=true|v[0-3] `, path: `\.Topics\[.*\]\.ErrorCode`, kafka: `UNKNOWN_TOPIC_OR_PARTITION`, target: `none`,
			element: true, reason: "Metadata that creates a topic answers with the topic"},
		{request: "IncrementalAlterConfigs", step: `op:4`, path: `.*ErrorCode`, kafka: `UNKNOWN_SERVER_ERROR`, target: `INVALID_REQUEST`,
			reason: "IncrementalAlterConfigs with an unknown operation"},
		{request: "Produce", step: `codec [1234].*WRONG`, path: produced + `\.ErrorCode`,
			kafka: `UNKNOWN_SERVER_ERROR`, target: `INVALID_RECORD`, reason: "Compressed records that cannot be inflated: INVALID_RECORD"},
		{request: "Produce", step: `codec [567]`, path: produced + `\.ErrorCode`, kafka: `UNKNOWN_SERVER_ERROR`,
			target: `UNSUPPORTED_COMPRESSION_TYPE`, reason: "Codec numbers 5 to 7"},
		{request: "Produce", step: `WRONG record offsets`, path: produced + `.*`, diverges: true, reason: "Offset deltas that are not 0, 1, 2"},
		{request: "Produce", step: `codec [1234].* WRONG (record length|header count|inner garbage)`, path: produced + `\.ErrorCode`,
			target: `INVALID_RECORD`, element: true, diverges: true,
			reason: "INVALID_RECORD for what Kafka stores although some client cannot read it"},
		{request: "Produce", step: `codec 0.* WRONG record count varint`, path: produced + `\.ErrorCode`, kafka: `UNKNOWN_SERVER_ERROR`,
			target: `INVALID_RECORD`, reason: "A number of more than 5 bytes, uncompressed"},
		{request: "Produce", step: `WRONG (magic 3|length-1|cut)`, path: produced + `\.ErrorCode`, kafka: `CORRUPT_MESSAGE`, element: true,
			diverges: true, reason: "Bytes whose batch header makes no sense"},
		{request: "Produce", step: ` v[3-6] .*codec [4567]`, path: produced + `\.ErrorCode`, kafka: `UNKNOWN_SERVER_ERROR|UNSUPPORTED_COMPRESSION_TYPE`,
			element: true, diverges: true, reason: "Before version 7, zstd and codec numbers that do not exist"},
		{request: "Produce", step: reencoded + `.*(WRONG transactional bit|producer p\d+-1)`, path: produced + `\.ErrorCode`, kafka: `UNKNOWN_SERVER_ERROR`,
			element: true, diverges: true, reason: "A batch with a producer epoch of −1"},
		{request: "Produce", step: `acks -?2 `, path: produced + `\.ErrorCode`, kafka: `INVALID_RECORD`, target: `INVALID_REQUIRED_ACKS`,
			reason: "acks other than −1, 0 and 1: INVALID_REQUIRED_ACKS"},
		{request: "Fetch", step: `max:?\s?(0|1|100|150|1000)\b`, path: `.*AbortedTransactions`, kafka: `null`, target: `empty`,
			reason: "has an empty list of aborted transactions"},
		{request: "Fetch", step: `isolation:2`, path: `.*`, reason: "An isolation level other than 0 and 1", diverges: true},
	}
}
