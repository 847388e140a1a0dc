package server

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRequestHeaders(t *testing.T) {
	for _, tt := range []struct {
		name, frame string
		flexible    bool
		clientID    string
		null        bool
		body        string
		err         error
	}{
		{name: "v1", frame: "0003 0000 00000007 0002 6d65 aabb", clientID: "me", body: "aabb"},
		{name: "v1 with an empty client id", frame: "0003 0000 00000007 0000", clientID: ""},
		{name: "v1 with a null client id", frame: "0003 0000 00000007 ffff aa", null: true, body: "aa"},
		{name: "v1 with a client id of length -2, null to Kafka", frame: "0003 0000 00000007 fffe aa", null: true, body: "aa"},
		{name: "v1 without a client id", frame: "0003 0000 00000007", err: errHeaderShort},
		{name: "v1 with half a client id length", frame: "0003 0000 00000007 00", err: errHeaderShort},
		{name: "v1 with a client id cut off", frame: "0003 0000 00000007 0003 6d65", err: errHeaderShort},
		{name: "v2 keeps the classic client id (T5)", frame: "0003 0009 00000007 0002 6d65 00 aabb", flexible: true, clientID: "me", body: "aabb"},
		{name: "v2 skips unknown tags (T5)", frame: "0003 0009 00000007 ffff 02 00 01 ff 8001 02 eeee aa", flexible: true, null: true, body: "aa"},
		{name: "v2 without tags", frame: "0003 0009 00000007 ffff", flexible: true, err: errHeaderShort},
		{name: "v2 with a tag cut off", frame: "0003 0009 00000007 ffff 01 00 05 aa", flexible: true, err: errHeaderShort},
		{name: "v2 with more tags than bytes", frame: "0003 0009 00000007 ffff ffffffff0f", flexible: true, err: errHeaderShort},
		{name: "v2 with a varint of six bytes", frame: "0003 0009 00000007 ffff 808080808000", flexible: true, err: errHeaderVarint},
		{name: "v2 with a varint over 32 bits", frame: "0003 0009 00000007 ffff ffffffff1f", flexible: true, err: errHeaderVarint},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, body, err := parseHeader(unhex(t, tt.frame), tt.flexible)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			if h.correlation != 7 || string(h.clientID) != tt.clientID || (h.clientID == nil) != tt.null {
				t.Errorf("header %+v, want correlation id 7, client id %q, null %v", h, tt.clientID, tt.null)
			}
			if want := unhex(t, tt.body); !bytes.Equal(body, want) {
				t.Errorf("body %x, want %x", body, want)
			}
		})
	}
}

// kmsg's formatter is an independent writer of both header generations.
func TestRequestHeadersOfAnotherWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := kmsg.NewPtrMetadataRequest()
		req.Version = rapid.Int16Range(0, req.MaxVersion()).Draw(t, "version")
		id := rapid.StringN(0, 40, 200).Draw(t, "client id")
		correlation := rapid.Int32().Draw(t, "correlation id")
		b := kmsg.NewRequestFormatter(kmsg.FormatterClientID(id)).AppendRequest(nil, req, correlation)
		if size := parseSize(b); size != int64(len(b)-sizeField) {
			t.Fatalf("size %d of a frame of %d bytes", size, len(b))
		}
		h, body, err := parseHeader(b[sizeField:], req.IsFlexible())
		if err != nil || h.correlation != correlation || string(h.clientID) != id {
			t.Fatalf("header %+v, %v; want %d %q", h, err, correlation, id)
		}
		if err := kmsg.NewPtrMetadataRequest().ReadFrom(nil); err == nil {
			t.Fatal("kmsg reads nothing as a request")
		}
		again := kmsg.NewPtrMetadataRequest()
		again.Version = req.Version
		if err := again.ReadFrom(body); err != nil {
			t.Fatalf("the body does not decode: %v", err)
		}
	})
}

func TestResponseHeaders(t *testing.T) {
	for _, tt := range []struct {
		name     string
		flexible bool
		want     string
	}{
		{"v0", false, "00000007 00000102"},
		{"v1", true, "00000008 00000102 00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := appendResponseHeader(nil, 0x102, tt.flexible, 3); !bytes.Equal(got, unhex(t, tt.want)) {
				t.Errorf("got %x, want %s", got, tt.want)
			}
		})
	}
}

// ApiVersions: always response header 0 (T2), and an answer to versions nobody knows, whatever their body (T1).
func TestApiVersionsHeaders(t *testing.T) {
	eachTransport(t, func(t *testing.T, dial func(*testServer) *client) {
		c := dial(handle(echo).start(t, Config{}))
		c.ask(frame(keyMetadata, flexibleFrom, 1, "x"))
		c.wantAnswer(1, "\x00x")
		c.ask(frame(keyApiVersions, flexibleFrom, 2, "x"))
		c.wantAnswer(2, "x")
		for _, version := range []int16{13, 99, 32767, -1} {
			c.ask(frame(keyApiVersions, version, 3, "\xff\xff\xff"))
			c.wantAnswer(3, "too new")
		}
		c.ask(unhexFrame("0012 7fff 00000004")) // not even a client id
		c.wantAnswer(4, "too new")
	})
}

func unhexFrame(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		return nil
	}
	return append([]byte{0, 0, 0, byte(len(b))}, b...)
}

func TestRequestFields(t *testing.T) {
	got := make(chan *Request, 1)
	ts := handle(parked(got)).start(t, Config{})
	c := ts.dialTCP(ts.listen())
	before := time.Now()
	c.send(frame(keyMetadata, 4, 77, "body"))
	r := <-got
	if r.Key != keyMetadata || r.Version != 4 || r.CorrelationID != 77 || r.ClientID != "me" || !r.HasClientID || string(r.Body) != "body" {
		t.Errorf("unexpected request %d v%d, correlation %d, client %q, body %q", r.Key, r.Version, r.CorrelationID, r.ClientID, r.Body)
	}
	if r.Conn.Listener() != (ListenerInfo{"tcp", "h", 2}) || r.Conn.RemoteAddr().String() != c.conn.LocalAddr().String() {
		t.Errorf("listener %+v, remote %v", r.Conn.Listener(), r.Conn.RemoteAddr())
	}
	if r.Received.Before(before) {
		t.Errorf("received at %v, before it was sent", r.Received)
	}
	r.Reply(Response{})
	c.wantAnswer(77, "")
}

func FuzzParseHeader(f *testing.F) {
	f.Add([]byte("\x00\x03\x00\x00\x00\x00\x00\x07\x00\x02me"), false)
	f.Add([]byte("\x00\x03\x00\x09\x00\x00\x00\x07\xff\xff\x02\x00\x01\xff\x80\x01\x02\xee\xee\xaa"), true)
	f.Fuzz(func(t *testing.T, b []byte, flexible bool) {
		if len(b) < headerMin {
			return
		}
		h, body, err := parseHeader(b, flexible)
		if err != nil {
			return
		}
		if consumed := len(b) - len(body); consumed < headerMin+2+len(h.clientID) {
			t.Fatalf("%d bytes consumed of %x", consumed, b)
		}
		if !bytes.HasSuffix(b, body) {
			t.Fatalf("body %x is no end of %x", body, b)
		}
	})
}
