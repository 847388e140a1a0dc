package differential

import "regexp"

// wantedAboutGroups are the differences about consumer groups that are wanted.
func wantedAboutGroups() []allowance {
	return []allowance{
		{path: `\.Groups\[.*\]\.UnknownTags`, kafka: `\(absent\)`, target: `[12] unknown tags`, reason: "DescribeGroups from version 5 on tells in tagged fields"},
		{request: "DescribeGroups", step: regexp.QuoteMeta(againText), path: `.*#2`, target: `\(absent\)`, reason: "DescribeGroups that names a group again"},
		{request: "OffsetFetch", step: regexp.QuoteMeta(againText), path: `.*#2`, target: `\(absent\)`, reason: "OffsetFetch answers a partition that is named again once"},
		{request: "OffsetFetch", step: regexp.QuoteMeta(againText), path: `.*\.Partitions`, kafka: `\(absent\)`, target: `null|empty`, reason: "OffsetFetch answers a partition that is named again once"},
		{request: "OffsetCommit", path: `\.Topics\[.*\]\.(Topic|TopicID)#2`, kafka: `\(absent\)`, reason: "answer in the order of the request. Kafka puts"},
		{request: "OffsetDelete", path: `\.Topics\[.*\]\.Topic#2`, kafka: `\(absent\)`, reason: "answer in the order of the request. Kafka puts"},
		{request: "JoinGroup", path: `\.ErrorCode`, kafka: `UNKNOWN_SERVER_ERROR`, target: `UNKNOWN_MEMBER_ID|FENCED_INSTANCE_ID`, element: true,
			reason: "JoinGroup with an id that was handed out and an instance id"},
		{request: "JoinGroup", step: regexp.QuoteMeta(votesText), path: `\.Protocol`, kafka: someProtocol, target: someProtocol, element: true, diverges: true, reason: "Of protocols with equally many votes"},
		{request: "JoinGroup", step: regexp.QuoteMeta(noRoomText), path: `answer`, kafka: `none`, element: true, diverges: true,
			reason: "A member that finds no room while others join is gone"},
		{request: "JoinGroup", step: regexp.QuoteMeta(namedTwiceText), path: `.*`, diverges: true, reason: "A protocol that a JoinGroup names twice"},
	}
}

// someProtocol is any that the cases about votes offer.
const someProtocol = `range|roundrobin|(cooperative-)?sticky|v\d`

// Marks in the texts of steps.
const (
	againText      = "(again)"
	votesText      = "(votes)"
	noRoomText     = "(no-room)"
	namedTwiceText = "(named-twice)"
	zombieText     = "(zombie)"
	foreignText    = "(foreign)"
)
