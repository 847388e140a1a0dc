package lint

// room is one package of the main module and what it may import besides the
// standard library.
type room struct {
	// Pure rooms decide and never act: no clock, no randomness, no files, no
	// sockets, no goroutines. Time is an argument.
	Pure bool
	// Rooms lists the packages of this module that the room may import.
	Rooms []string
	// Others lists import path prefixes of other modules.
	Others []string
}

// Third-party prefixes by need, so that the table below reads in words.
const (
	kmsg       = "github.com/twmb/franz-go/pkg/kmsg"
	kerr       = "github.com/twmb/franz-go/pkg/kerr"
	kgo        = "github.com/twmb/franz-go/pkg/kgo"
	kversion   = "github.com/twmb/franz-go/pkg/kversion"
	sasl       = "github.com/twmb/franz-go/pkg/sasl"
	kadm       = "github.com/twmb/franz-go/pkg/kadm"
	xsys       = "golang.org/x/sys"
	xsync      = "golang.org/x/sync"
	klauspost  = "github.com/klauspost/compress"
	lz4        = "github.com/pierrec/lz4"
	snappy     = "github.com/golang/snappy"
	prometheus = "github.com/prometheus/"
	cobra      = "github.com/spf13/"
	koanf      = "github.com/knadh/koanf"
	properties = "github.com/magiconair/properties"
)

// rooms is the import table: what is not granted here is refused. Imports
// point down; only broker knows everyone below it.
var rooms = map[string]room{
	"cmd/skein":                {Rooms: []string{"cli"}},
	"cli":                      {Rooms: []string{"assign", "broker", "cli/internal/*", "consumer", "internal/nearest", "internal/ownership", "internal/settings"}, Others: []string{cobra, koanf, properties, kgo, kadm, kmsg, kerr, xsys}},
	"cli/internal/connect":     {Rooms: []string{"client", "cli/internal/problem"}, Others: []string{cobra, koanf, kgo, kadm, kerr, sasl}},
	"cli/internal/demo/screen": {Pure: true, Rooms: []string{"cli/internal/demo/story", "internal/ownership"}},
	"cli/internal/demo/stage":  {Rooms: []string{"assign", "broker", "client", "cli/internal/demo/story", "cli/internal/groups", "consumer", "internal/ownership"}, Others: []string{kgo, kadm, kerr}},
	"cli/internal/demo/story":  {Pure: true, Rooms: []string{"internal/ownership"}},
	"cli/internal/groups":      {Rooms: []string{"cli/internal/problem", "internal/grouptags"}, Others: []string{kgo, kadm, kmsg, kerr}},
	"cli/internal/problem":     {Rooms: []string{"internal/nearest"}},
	"cli/internal/rebalance":   {Rooms: []string{"assign"}},
	"cli/internal/recordtext":  {Others: []string{kgo}},
	"cli/internal/txns":        {Pure: true},
	"cli/internal/txnwire":     {Rooms: []string{"cli/internal/problem", "cli/internal/txns"}, Others: []string{kgo, kadm, kmsg, kerr}},
	"cli/internal/upgrade":     {Pure: true},

	"broker":                              {Rooms: []string{"broker/internal/*", "internal/deadline", "internal/group", "internal/machine", "internal/settings", "internal/txn", "internal/vfs"}},
	"broker/internal/monitor":             {Others: []string{prometheus, kmsg, kerr}},
	"broker/internal/server":              {Rooms: []string{"internal/vfs"}, Others: []string{xsys}},
	"broker/internal/api":                 {Rooms: []string{"broker/internal/server", "broker/internal/coordinator", "internal/group", "internal/machine", "internal/txn", "broker/internal/partition", "broker/internal/catalog", "broker/internal/fetchsession", "broker/internal/producers", "broker/internal/record", "broker/internal/storage", "internal/settings"}, Others: []string{kmsg, kerr, kversion}},
	"broker/internal/coordinator":         {Rooms: []string{"internal/machine", "broker/internal/partition", "broker/internal/record"}},
	"broker/internal/fetchsession":        {Pure: true},
	"broker/internal/partition":           {Rooms: []string{"broker/internal/catalog", "broker/internal/commit", "broker/internal/producers", "broker/internal/record", "broker/internal/storage", "internal/settings", "internal/vfs"}, Others: []string{kerr, xsync}},
	"broker/internal/catalog":             {Rooms: []string{"internal/vfs"}},
	"broker/internal/catalog/catalogtest": {Rooms: []string{"broker/internal/catalog"}},
	"broker/internal/storage":             {Rooms: []string{"broker/internal/producers", "broker/internal/record", "internal/vfs"}},
	"broker/internal/commit":              {Rooms: []string{"internal/vfs"}, Others: []string{xsync}},
	"broker/internal/producers":           {Pure: true, Rooms: []string{"broker/internal/record"}, Others: []string{kerr}},
	"broker/internal/record":              {Pure: true, Others: []string{klauspost, lz4, snappy, kerr}},
	// Its clients speak to whole brokers; only tests of broker import it.
	"broker/internal/eossim":         {Rooms: []string{"broker/internal/eossim/history", "broker/internal/record", "internal/vfs"}, Others: []string{kmsg, kerr}},
	"broker/internal/eossim/history": {Pure: true},

	"assign":                      {Pure: true, Rooms: []string{"assign/internal/group", "assign/internal/optimal", "assign/internal/certificate", "assign/internal/weigh"}},
	"assign/internal/optimal":     {Pure: true, Rooms: []string{"assign/internal/group", "assign/internal/level", "assign/internal/moves", "assign/internal/deal", "assign/internal/spread"}},
	"assign/internal/deal":        {Pure: true, Rooms: []string{"assign/internal/group", "assign/internal/moves"}},
	"assign/internal/spread":      {Pure: true, Rooms: []string{"assign/internal/group", "assign/internal/moves"}},
	"assign/internal/moves":       {Pure: true, Rooms: []string{"assign/internal/group"}},
	"assign/internal/level":       {Pure: true, Rooms: []string{"assign/internal/group"}},
	"assign/internal/group":       {Pure: true},
	"assign/internal/weigh":       {Pure: true, Rooms: []string{"assign/internal/group"}},
	"assign/internal/certificate": {Pure: true}, // not even group: it must share nothing with the solver

	"client":                             {Others: []string{kgo, kmsg, sasl}},
	"consumer":                           {Rooms: []string{"assign", "client", "consumer/internal/*", "internal/roster"}, Others: []string{kgo, kmsg, kerr, kversion}},
	"consumer/internal/acks":             {Pure: true},
	"consumer/internal/eossim":           {Pure: true, Rooms: []string{"assign", "consumer/internal/eossim/*", "consumer/internal/membership", "internal/fence", "internal/machine", "internal/simulation", "internal/transaction", "internal/work"}, Others: []string{kmsg, kerr}},
	"consumer/internal/eossim/cluster":   {Pure: true, Rooms: []string{"assign", "internal/group", "internal/machine", "internal/simulation", "internal/txn"}, Others: []string{kmsg, kerr}},
	"consumer/internal/eossim/transport": {Pure: true, Rooms: []string{"consumer/internal/eossim/cluster", "internal/simulation"}, Others: []string{kmsg, kerr}},
	"consumer/internal/figures":          {Pure: true},
	"consumer/internal/lanes":            {Pure: true, Rooms: []string{"consumer/internal/membership"}},
	"consumer/internal/groupsim":         {Pure: true, Rooms: []string{"assign", "consumer/internal/membership", "internal/group", "internal/grouptags", "internal/machine", "internal/simulation"}, Others: []string{kmsg, kerr}},
	"consumer/internal/membership":       {Pure: true, Rooms: []string{"assign", "internal/grouptags", "internal/roster"}, Others: []string{kmsg, kerr}},
	"consumer/internal/onebounce":        {Pure: true},
	"consumer/internal/reset":            {Pure: true},
	"consumer/parallel":                  {Rooms: []string{"consumer", "consumer/internal/acks", "consumer/internal/lanes"}},
	"consumer/prom":                      {Rooms: []string{"consumer"}, Others: []string{prometheus}},

	"examples/enrich":             {Rooms: []string{"client", "consumer", "examples/internal/*", "exactlyonce", "producer"}},
	"examples/outbox":             {Rooms: []string{"client", "examples/internal/*", "producer"}},
	"examples/wordcount":          {Rooms: []string{"client", "consumer", "examples/internal/*", "exactlyonce", "producer"}},
	"examples/internal/rehearsal": {Rooms: []string{"broker", "client", "examples/internal/stage"}},
	"examples/internal/stage":     {Rooms: []string{"broker", "client", "consumer"}, Others: []string{kgo, kadm}},
	"examples/internal/table":     {Rooms: []string{"client", "consumer"}},

	"internal/ages":    {Rooms: []string{"client"}, Others: []string{kgo, kmsg, kerr, kversion}},
	"exactlyonce":      {Rooms: []string{"client", "consumer", "internal/ages", "internal/fence", "internal/work", "producer"}, Others: []string{kgo, kmsg, kerr, kversion}},
	"exactlyonce/prom": {Rooms: []string{"consumer", "exactlyonce"}, Others: []string{prometheus}},
	"producer":         {Rooms: []string{"client", "consumer", "internal/ages", "internal/transaction"}, Others: []string{kgo, kmsg, kerr, kversion, xsync}},

	"internal/deadline":     {Pure: true},
	"internal/fence":        {Pure: true, Others: []string{kerr}},
	"internal/fleet":        {Rooms: []string{"client", "consumer", "exactlyonce", "producer"}, Others: []string{kgo, kadm, kerr}},
	"internal/group":        {Pure: true, Rooms: []string{"internal/deadline", "internal/machine", "internal/grouptags", "assign"}, Others: []string{kmsg, kerr}},
	"internal/grouptags":    {Pure: true},
	"internal/machine":      {Pure: true},
	"internal/nearest":      {Pure: true},
	"internal/ownership":    {Pure: true},
	"internal/roster":       {Pure: true},
	"internal/scripts":      {Rooms: []string{"internal/grouptags"}, Others: []string{kmsg, kerr}},
	"internal/settings":     {Pure: true, Rooms: []string{"internal/nearest"}},
	"internal/settings/gen": {Rooms: []string{"internal/settings"}},
	"internal/transaction":  {Pure: true, Others: []string{kerr}},
	"internal/simulation":   {Pure: true, Rooms: []string{"internal/machine"}},
	"internal/transcript":   {Pure: true},
	"internal/txn":          {Pure: true, Rooms: []string{"internal/deadline", "internal/machine"}, Others: []string{kmsg, kerr}},
	"internal/work":         {Pure: true},
	"internal/vfs":          {Others: []string{xsys}},
	"internal/lint":         {},
}

// testOnly may be imported by any _test.go file, whatever its room.
var testOnly = []string{
	"go.uber.org/goleak",
	"pgregory.net/rapid",
	"github.com/anishathalye/porcupine",
	kgo, kadm, kmsg, kerr,
	prometheus,
}
