package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"net/netip"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
)

// JoinGroup (11): a member joins a group, or joins its next generation.
//
// v1: the rebalance timeout; before, it is the session timeout
// v2: throttle time
// v3: throttled by muting the connection after the response (KIP-219)
// v4: a new member gets its id with MEMBER_ID_REQUIRED and joins with it (KIP-394)
// v5: static members (KIP-345)
// v6: flexible
// v7: the answer tells the protocol type, and no protocol name with an error (KIP-559)
// v8: the reason (KIP-800)
// v9: a static leader that comes back is told not to assign (KIP-814)
//
// The request waits until every member has joined, which takes a rebalance timeout at most.
func joinGroupEntry() entry {
	return entry{key: 11, min: 0, max: 9, flexible: 6, serve: (*Handler).joinGroup}
}

func (h *Handler) joinGroup(ctx context.Context, r *server.Request) {
	req := kmsg.NewPtrJoinGroupRequest()
	if !decodeKept(r, req) {
		return
	}
	if req.Group == "" {
		reply(r, joinGroupRefused(kerr.InvalidGroupID.Code, req.MemberID))
		return
	}
	h.park(ctx, r, req.Group, group.Join{Request: req, ClientID: r.ClientID, Host: hostOf(r.Conn.RemoteAddr()), NewID: newUUID()}, func(code int16) kmsg.Response {
		return joinGroupRefused(code, "") // as Kafka: only what has looked at the request repeats the id
	})
}

func joinGroupRefused(code int16, memberID string) kmsg.Response {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode, resp.Generation, resp.MemberID = code, -1, memberID
	return resp
}

// hostOf is a peer's address as Kafka shows it: a slash, and in IPv6 every digit but leading zeros.
func hostOf(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return "/" + a.String()
	}
	ip := tcp.AddrPort().Addr().Unmap()
	if ip.Is4() {
		return "/" + ip.String()
	}
	return "/" + longIPv6(ip)
}

func longIPv6(ip netip.Addr) string {
	groups := strings.Split(ip.WithZone("").StringExpanded(), ":")
	for i, g := range groups {
		if groups[i] = strings.TrimLeft(g, "0"); groups[i] == "" {
			groups[i] = "0"
		}
	}
	return strings.Join(groups, ":")
}

// newUUID is a random UUID (RFC 9562, version 4) in text.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
