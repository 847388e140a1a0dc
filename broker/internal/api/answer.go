package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/settings"
)

// answers makes the serve function of a request that is answered at once, from memory.
func answers[Req kmsg.Request](blank func() Req, answer func(*Handler, *server.Request, Req) kmsg.Response) func(*Handler, context.Context, *server.Request) {
	return func(h *Handler, _ context.Context, r *server.Request) {
		req := blank()
		if decode(r, req) {
			reply(r, answer(h, r, req))
		}
	}
}

// changes makes the serve function of a request that changes the catalog: it is answered after the changes that were
// asked for before it. A client that goes away meanwhile changes nothing about that.
func changes[Req kmsg.Request](blank func() Req, answer func(*Handler, context.Context, Req) kmsg.Response) func(*Handler, context.Context, *server.Request) {
	return func(h *Handler, ctx context.Context, r *server.Request) {
		req := blank()
		if decode(r, req) {
			ctx = context.WithoutCancel(ctx)
			h.control.answer(r, func() { reply(r, answer(h, ctx, req)) })
		}
	}
}

// decode reads the body of r into req. When it cannot be read, the connection is closed, as Kafka does, and decode
// returns false.
func decode(r *server.Request, req kmsg.Request) bool { return decodeFrom(r, r.Body, req) }

// decodeKept is decode for a request that waits for long, or of which something is kept: it gives the memory of the frame
// back. kmsg copies strings, but leaves byte strings and unknown tags in the memory that it reads from.
func decodeKept(r *server.Request, req kmsg.Request) bool {
	if !decodeFrom(r, bytes.Clone(r.Body), req) {
		return false
	}
	r.ReleaseBody()
	r.Body = nil // it would keep the memory from being freed
	return true
}

func decodeFrom(r *server.Request, body []byte, req kmsg.Request) bool {
	req.SetVersion(r.Version)
	err := req.ReadFrom(body)
	if err == nil {
		err = checkMentions(req)
	}
	if err != nil {
		r.Fail(fmt.Errorf("reading %s v%d from client %q: %w", kmsg.NameForKey(r.Key), r.Version, r.ClientID, err))
	}
	return err == nil
}

// reply sends resp in the version of the request.
func reply(r *server.Request, resp kmsg.Response) {
	resp.SetVersion(r.Version)
	r.Reply(server.Response{Body: resp.AppendTo(r.Buffer(256)), ErrorCode: errorIn(resp)})
}

// refusal is why something is not done: an error code and what to tell a person. The zero value refuses nothing.
type refusal struct {
	code    int16
	message string
}

func refuse(e *kerr.Error, format string, args ...any) refusal {
	return refusal{code: e.Code, message: short(fmt.Sprintf(format, args...))}
}

// messageMax is how long a message gets, in bytes. Many repeat what the client has sent, which may be as long as a string
// can be; before the flexible versions a longer one would break the response.
const messageMax = 1000

func short(message string) string {
	if len(message) <= messageMax {
		return message
	}
	return strings.ToValidUTF8(message[:messageMax], "") + "…"
}

// text is the message as responses carry it: null when there is none.
func (f refusal) text() *string {
	if f.message == "" {
		return nil
	}
	return &f.message
}

// badConfig refuses settings, with the reason that the settings package gives.
func badConfig(err error) refusal {
	if err == nil {
		return refusal{}
	}
	return refuse(kerr.InvalidConfig, "%s", err)
}

// badBrokerConfig does so for broker settings, where Kafka answers INVALID_REQUEST to a bad value.
func badBrokerConfig(err error) refusal {
	var unknown *settings.UnknownError
	if err == nil || errors.As(err, &unknown) {
		return badConfig(err)
	}
	return refuse(kerr.InvalidRequest, "%s", err)
}

// notStored refuses what could not be made durable.
func notStored(err error) refusal {
	return refuse(kerr.KafkaStorageError, "the change could not be stored: %s", err)
}

func pointer[T any](v T) *T { return &v }
