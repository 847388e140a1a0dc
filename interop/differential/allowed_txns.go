package differential

import "regexp"

// wantedAboutTransactions are the differences about transactions that are wanted.
func wantedAboutTransactions() []allowance {
	return []allowance{
		{request: "DescribeTransactions", step: regexp.QuoteMeta(againText), path: `.*#2`, target: `\(absent\)`, reason: "DescribeTransactions that names an id again"},
		{request: "DescribeTransactions", step: `-zombie"`, path: `.*`, kafka: `.*`, element: true,
			reason: "InitProducerId with a producer epoch that is not the current one is refused, also over an open transaction"},
		{request: "Produce", step: `-refused"`, path: `.*\.ErrorCode`, kafka: `OUT_OF_ORDER_SEQUENCE_NUMBER`, target: `none`, element: true, diverges: true,
			reason: "A batch that is refused leaves nothing behind"},
		{step: `^(Produce|TxnOffsetCommit) .*` + regexp.QuoteMeta(foreignText), path: `.*\.ErrorCode`, target: `INVALID_PRODUCER_ID_MAPPING|INVALID_REQUEST`,
			diverges: true, reason: "Produce and TxnOffsetCommit under a transactional id that is not their producer's"},
		{step: `^(ListOffsets|Fetch) .*-trimmed/0`, path: `.*\.(LastStable)?Offset`, kafka: `0`, target: `2`, reason: "With read_committed neither ListOffsets nor Fetch"},
		{request: "EndTxn", step: `-zombie"`, path: `\.ErrorCode`, kafka: `none|INVALID_TXN_STATE`, target: `PRODUCER_FENCED`, element: true, diverges: true,
			reason: "EndTxn v5 with the epoch before the current one is a retry where"},
		{request: "AddPartitionsToTxn", step: regexp.QuoteMeta(againText), path: `.*`, diverges: true, reason: "One that names a transactional id twice gets an answer for each"},
	}
}
