package differential

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// render writes an answer as lines "path = value", in an order that does not
// depend on the broker, with each broker's own ids replaced by names.
func (s *side) render(response kmsg.Response) []string {
	var lines []string
	s.renderStruct("", "", reflect.ValueOf(response).Elem(), &lines)
	if s.prefix != "" {
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], s.prefix, "")
		}
	}
	return lines
}

func (s *side) renderStruct(path, topic string, v reflect.Value, lines *[]string) {
	t := v.Type()
	topic = topicOf(s, v, topic)
	for i := range t.NumField() {
		name := t.Field(i).Name
		if skipped(name) {
			continue
		}
		s.renderField(path+"."+name, name, topic, v.Field(i), lines)
	}
}

// skipped fields say nothing that could be compared.
func skipped(field string) bool { return field == "Version" || field == "ThrottleMillis" }

// topicOf finds which topic the fields below a struct speak of, for the sake
// of leader epochs.
func topicOf(s *side, v reflect.Value, outer string) string {
	if f := v.FieldByName("TopicID"); f.IsValid() {
		if name, ok := s.topics[f.Interface().([16]byte)]; ok {
			return name
		}
	}
	if f := v.FieldByName("Topic"); f.IsValid() {
		if f.Kind() == reflect.Pointer && !f.IsNil() {
			f = f.Elem()
		}
		if f.Kind() == reflect.String && f.String() != "" {
			return f.String()
		}
	}
	return outer
}

func (s *side) renderField(path, name, topic string, v reflect.Value, lines *[]string) {
	if text, ok := s.special(name, topic, v); ok {
		*lines = append(*lines, path+" = "+text)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if tags, ok := v.Interface().(kmsg.Tags); ok {
			if tags.Len() > 0 {
				*lines = append(*lines, fmt.Sprintf("%s = %d unknown tags", path, tags.Len()))
			}
			return
		}
		s.renderStruct(path, topic, v, lines)
	case reflect.Slice:
		s.renderSlice(path, topic, v, lines)
	case reflect.Pointer:
		if v.IsNil() {
			*lines = append(*lines, path+" = null")
			return
		}
		s.renderField(path, name, topic, v.Elem(), lines)
	default:
		*lines = append(*lines, fmt.Sprintf("%s = %v", path, v.Interface()))
	}
}

// renderSlice sorts arrays of structs by their rendered text, for brokers need
// not keep an order, and puts what names an element into its path.
func (s *side) renderSlice(path, topic string, v reflect.Value, lines *[]string) {
	if v.Type().Elem().Kind() != reflect.Struct {
		*lines = append(*lines, fmt.Sprintf("%s = %s", path, list(v)))
		return
	}
	if v.IsNil() {
		*lines = append(*lines, path+" = null")
	}
	var elements [][]string
	for i := range v.Len() {
		var element []string
		key := s.elementKey(v.Index(i))
		s.renderStruct(path+"["+key+"]", topic, v.Index(i), &element)
		elements = append(elements, element)
	}
	sort.SliceStable(elements, func(i, j int) bool {
		return strings.Join(elements[i], "\n") < strings.Join(elements[j], "\n")
	})
	if v.Len() == 0 && !v.IsNil() {
		*lines = append(*lines, path+" = empty")
	}
	for _, e := range elements {
		*lines = append(*lines, e...)
	}
}

func list(v reflect.Value) string {
	if v.IsNil() {
		return "null"
	}
	return fmt.Sprintf("%v", v.Interface())
}

// elementKey names an element of an array by what is unique in it.
func (s *side) elementKey(v reflect.Value) string {
	var parts []string
	for _, field := range []string{"ApiKey", "Topic", "TopicID", "Partition", "ResourceType", "ResourceName", "NodeID", "Name", "RelativeOffset", "ProducerID", "Group", "Key", "MemberID", "InstanceID", "TransactionalID"} {
		f := v.FieldByName(field)
		if !f.IsValid() {
			continue
		}
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				continue
			}
			f = f.Elem()
		}
		if field == "TopicID" && len(parts) > 0 {
			continue // named by its name
		}
		if text, ok := s.special(field, "", f); ok {
			parts = append(parts, text)
		} else {
			parts = append(parts, fmt.Sprint(f.Interface()))
		}
		if parts[len(parts)-1] == "" {
			parts = parts[:len(parts)-1]
		}
	}
	return strings.Join(parts, " ")
}

// special renders the fields that may differ between brokers, or that read
// better in another form.
func (s *side) special(name, topic string, v reflect.Value) (string, bool) {
	switch name {
	case "ErrorCode":
		return errorName(int16(v.Int())), true
	case "ErrorMessage", "Documentation":
		return presence(v), true
	case "ClusterID":
		return presence(v), true
	case "Port":
		return "a port", true
	case "TopicID":
		return s.topicName(v.Interface().([16]byte)), true
	case "ProducerID":
		return s.producerName(v.Int()), true
	case "MemberID", "LeaderID":
		return s.cast.memberName(v.String()), v.Kind() == reflect.String
	case "SessionID":
		return s.sessionName(int32(v.Int())), true
	case "LeaderEpoch":
		return s.epochName(topic, int32(v.Int())), true
	case "LogAppendTime", "Timestamp", "LastTimestamp", "StartTimestamp":
		return s.timeName(v.Int()), true
	case "TotalBytes", "UsableBytes", "FinalizedFeaturesEpoch":
		return sign(v.Int()), true
	case "Dir":
		return "a path", true
	case "RecordBatches":
		return s.renderRecords(topic, v.Bytes()), true
	}
	return "", false
}

func errorName(code int16) string {
	if code == 0 {
		return "none"
	}
	if e := kerr.TypedErrorForCode(code); e != nil {
		return e.Message
	}
	return fmt.Sprintf("error %d", code)
}

// presence compares whether there is a text, not its words.
func presence(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "null"
		}
		v = v.Elem()
	}
	if v.String() == "" {
		return "empty"
	}
	return "some text"
}

func (s *side) sessionName(id int32) string {
	if id == 0 {
		return "0"
	}
	for name, known := range s.sessions {
		if known == id {
			return "session " + name
		}
	}
	return "a new session"
}

func (s *side) epochName(topic string, epoch int32) string {
	first, known := s.epochs[topic]
	if epoch < 0 || !known {
		return fmt.Sprint(epoch)
	}
	return fmt.Sprintf("first%+d", epoch-first)
}

// timeName hides the broker's own clock. The cases use no timestamps within
// minutes of now.
func (s *side) timeName(ms int64) string {
	age := time.Since(time.UnixMilli(ms))
	if age < time.Since(s.began)+time.Minute && age > -time.Minute {
		return "now"
	}
	return fmt.Sprint(ms)
}

func sign(n int64) string {
	switch {
	case n > 0:
		return "above 0"
	case n == 0:
		return "0"
	default:
		return fmt.Sprint(n)
	}
}

// difference is one line of the answers that is not the same on both sides.
type difference struct {
	path   string
	kafka  string
	target string
}

func (d difference) String() string {
	return fmt.Sprintf("%s\n      kafka:  %s\n      target: %s", d.path, d.kafka, d.target)
}

// compare returns what differs between two rendered answers.
func compare(kafka, target []string) []difference {
	k, order := byPath(kafka)
	t, more := byPath(target)
	for _, path := range more {
		if _, known := k[path]; !known {
			order = append(order, path)
		}
	}
	var all []difference
	for _, path := range order {
		if a, b := value(k, path), value(t, path); a != b {
			all = append(all, difference{path, a, b})
		}
	}
	return all
}

// byPath splits lines; a path that comes more than once gets a number.
func byPath(lines []string) (map[string]string, []string) {
	values := make(map[string]string)
	var order []string
	for _, line := range lines {
		path, text, _ := strings.Cut(line, " = ")
		for n, base := 2, path; ; n++ {
			if _, taken := values[path]; !taken {
				break
			}
			path = fmt.Sprintf("%s#%d", base, n)
		}
		values[path] = text
		order = append(order, path)
	}
	return values, order
}

func value(m map[string]string, path string) string {
	if v, ok := m[path]; ok {
		return v
	}
	return "(absent)"
}
