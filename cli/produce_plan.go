package cli

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/recordtext"
)

// produceFlags are the flags as given.
type produceFlags struct {
	input, delimiter, keySeparator, null string
	nullGiven, keyGiven                  bool
	key                                  string
	headers                              []string
	partition                            int32
	repartition                          bool
	codec, acks, timestamp               string
	autoCreate, quiet, each              bool
	rate                                 float64
	maxBytes                             int
	deliveryTimeout                      time.Duration
}

const (
	inputLines        = "lines"
	inputJSON         = "json"
	inputFramed       = "framed"
	inputFramedValues = "framed-values"
)

func (p *produceFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&p.input, "input", "i", inputLines, "`FORM` form of the input: lines, json, framed or framed-values")
	f.StringVarP(&p.keySeparator, "key-separator", "K", "", "`TEXT` what stands between key and value in lines; escapes: \\t \\0 \\xHH …")
	f.StringVarP(&p.delimiter, "delimiter", "D", `\n`, "`TEXT` what ends a record in lines; \\0 for NUL")
	f.StringVar(&p.null, "null", "", "`TEXT` what stands for null in lines; '' makes empty keys and values null")
	f.StringVarP(&p.key, "key", "k", "", "`TEXT` key for records that have none")
	f.StringArrayVarP(&p.headers, "header", "H", nil, "`NAME=VALUE` header to add to every record; may be repeated")
	f.Int32VarP(&p.partition, "partition", "p", -1, "`NUMBER` partition for records that name none (default: chosen by key)")
	f.BoolVar(&p.repartition, "repartition", false, "ignore the partitions in JSON input, choose by key")
	f.StringVarP(&p.codec, "codec", "z", "none", "`CODEC` compress with none, gzip, snappy, lz4 or zstd")
	f.StringVar(&p.acks, "acks", "all", "`WHO` who must have a record before it counts: all replicas, 1 (the leader) or 0 (nobody)")
	f.StringVar(&p.timestamp, "timestamp", "", "`TIME` timestamp for records that have none: milliseconds or RFC 3339 (default now)")
	f.IntVar(&p.maxBytes, "max-message-bytes", 1000012, "`BYTES` size that one record, or batch of them, has at most")
	f.DurationVar(&p.deliveryTimeout, "delivery-timeout", 30*time.Second, "`DURATION` without any acknowledgement after which to give up")
	f.BoolVar(&p.autoCreate, "auto-create", false, "let the broker create the topic when it does not exist and the broker's settings allow it")
	f.BoolVar(&p.each, "each", false, "print where each record went when it is acknowledged: topic, partition and offset")
	f.Float64Var(&p.rate, "rate", 0, "`NUMBER` of records a second that are read at most")
	f.BoolVarP(&p.quiet, "quiet", "q", false, "print no summary")
	for name, choices := range map[string][]string{
		"input": {inputLines, inputJSON, inputFramed, inputFramedValues}, "codec": codecNames(), "acks": {"all", "1", "0"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
	}
	cmd.PreRun = func(cmd *cobra.Command, _ []string) {
		p.nullGiven, p.keyGiven = f.Changed("null"), f.Changed("key")
	}
}

// producePlan is what the flags mean.
type producePlan struct {
	topic       string
	unit        string // what the input is counted in: lines, or records
	options     []kgo.Opt
	reader      func(io.Reader) recordtext.Reader
	key         []byte
	headers     []kgo.RecordHeader
	partition   int32
	partitions  int // of the topic; 0 when not known
	patience    time.Duration
	repartition bool
	timestamp   time.Time
	unconfirmed bool // acks=0
}

// verb says what has happened to the records that count.
func (p producePlan) verb() string {
	if p.unconfirmed {
		return "sent"
	}
	return "acknowledged"
}

func (p *produceFlags) plan(topic string) (producePlan, error) {
	plan := producePlan{topic: topic, unit: "line", partition: p.partition, repartition: p.repartition, patience: p.deliveryTimeout, unconfirmed: p.acks == "0"}
	if p.keyGiven {
		plan.key = []byte(p.key)
	}
	for _, step := range []func(*producePlan) error{p.planReader, p.planRecord, p.planOptions} {
		if err := step(&plan); err != nil {
			return plan, err
		}
	}
	return plan, nil
}

func (p *produceFlags) planReader(plan *producePlan) error {
	switch p.input {
	case inputLines:
		return p.planLines(plan)
	case inputJSON:
		plan.reader = func(r io.Reader) recordtext.Reader { return recordtext.NewJSON(r, 0) }
	case inputFramed, inputFramedValues:
		plan.unit = "record"
		keys := p.input == inputFramed
		plan.reader = func(r io.Reader) recordtext.Reader { return recordtext.NewFramed(r, keys, 0) }
	default:
		return problem.Usage("choose lines, json, framed or framed-values", "--input %q is not a form", p.input)
	}
	if p.keySeparator != "" || p.nullGiven || p.delimiter != `\n` {
		return problem.Usage("drop them, or use --input lines", "--key-separator, --delimiter and --null are about lines")
	}
	return nil
}

func (p *produceFlags) planLines(plan *producePlan) error {
	var form recordtext.LineForm
	var err error
	if form.KeySeparator, err = recordtext.Unescape(p.keySeparator); err != nil {
		return problem.Usage("", "--key-separator: %w", err)
	}
	if form.Delimiter, err = recordtext.Unescape(p.delimiter); err != nil {
		return problem.Usage("", "--delimiter: %w", err)
	}
	if len(form.Delimiter) == 0 {
		return problem.Usage(`use \n for lines or \0 for NUL, or --input framed`, "--delimiter is empty")
	}
	if p.nullGiven {
		form.Null = []byte(p.null)
	}
	plan.reader = func(r io.Reader) recordtext.Reader { return recordtext.NewLines(r, form) }
	return nil
}

func (p *produceFlags) planRecord(plan *producePlan) error {
	for _, h := range p.headers {
		name, value, ok := strings.Cut(h, "=")
		if !ok || name == "" {
			return problem.Usage("write --header NAME=VALUE", "%q is not a header", h)
		}
		plan.headers = append(plan.headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	if p.timestamp == "" {
		return nil
	}
	t, err := recordtext.ParseTime(p.timestamp)
	if err != nil {
		return problem.Usage("", "--timestamp: %w", err)
	}
	plan.timestamp = t
	return nil
}

func (p *produceFlags) planOptions(plan *producePlan) error {
	codec, ok := codecs()[p.codec]
	if !ok {
		return problem.Usage("choose "+strings.Join(codecNames(), ", "), "--codec %q is not a codec", p.codec)
	}
	if p.deliveryTimeout <= 0 {
		return problem.Usage("give a duration such as 30s", "--delivery-timeout must be above 0")
	}
	if p.maxBytes < 1 {
		return problem.Usage("", "--max-message-bytes must be at least 1")
	}
	plan.options = []kgo.Opt{
		kgo.DefaultProduceTopic(plan.topic),
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(int32(min(p.maxBytes, 1<<30))),
		kgo.BrokerMaxWriteBytes(int32(max(100<<20, min(p.maxBytes, 1<<30)+1<<20))),
		kgo.MaxBufferedBytes(max(64<<20, 2*p.maxBytes)),
		kgo.MaxBufferedRecords(50_000),
		kgo.RecordPartitioner(partitioner{kgo.UniformBytesPartitioner(64<<10, true, true, nil)}),
		kgo.AllowIdempotentProduceCancellation(), // giving up is for good: nothing is sent again
	}
	if p.autoCreate {
		plan.options = append(plan.options, kgo.AllowAutoTopicCreation())
	}
	return p.planAcks(plan)
}

func (p *produceFlags) planAcks(plan *producePlan) error {
	switch p.acks {
	case "all", "-1":
		plan.options = append(plan.options, kgo.RequiredAcks(kgo.AllISRAcks()))
	case "1":
		plan.options = append(plan.options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		plan.options = append(plan.options, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	default:
		return problem.Usage("choose all, 1 or 0", "--acks %q is not known", p.acks)
	}
	return nil
}

func codecs() map[string]kgo.CompressionCodec {
	return map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
}

func codecNames() []string {
	var names []string
	for name := range codecs() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
