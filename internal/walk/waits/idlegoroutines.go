// SPDX-License-Identifier: Apache-2.0

package waits

import "strings"

// goparkFunction is in runtime/proc.go.
const goparkFunction = "runtime.gopark"

// Wait reasons of goroutines (runtime/runtime2.go, waitReasonStrings).
const (
	waitIO      = "IO wait"
	waitSelect  = "select"
	waitNothing = "select (no cases)"
	waitReceive = "chan receive"

	waitCoroutine = "coroutine"
)

var goroutineWaits = map[string]bool{waitIO: true, waitSelect: true, waitNothing: true, waitReceive: true}

// nextOnConnection are functions that read a connection's next message, with the callee that waits for its begin ("":
// each wait does).
var nextOnConnection = map[string]string{
	"net/http.(*conn).serve":                  "bufio.(*Reader).Peek",
	"net/http.(*connReader).backgroundRead":   "",
	HTTPReader:                                "bufio.(*Reader).Peek",
	"net/http.(*http2serverConn).readFrames":  "",
	"net/http.(*http2clientConnReadLoop).run": "",
	"google.golang.org/grpc/internal/transport.(*http2Server).HandleStreams": "",
	"google.golang.org/grpc/internal/transport.(*http2Client).reader":        "",
}

var goroutineWorkWaits = map[string]bool{
	"net/http.(*persistConn).writeLoop":                              true,
	"net/http.(*http2serverConn).serve":                              true,
	"database/sql.(*DB).connectionOpener":                            true,
	"database/sql.(*DB).connectionCleaner":                           true,
	"google.golang.org/grpc/internal/transport.(*controlBuffer).get": true,
	"os/signal.loop": true,
}

// idleGenerator returns the rule of a function of [iter.Pull] that waits in yield for the next call of next or stop
// (iter/iter.go). A caller of next is not idle.
func idleGenerator(stack []Frame) string {
	for _, f := range stack[:min(len(stack), maxGoFrames)] {
		if strings.HasPrefix(f.Function, "iter.Pull") {
			if strings.HasSuffix(f.Function, ".func1.1") {
				return IdlePool
			}
			return ""
		}
	}
	return ""
}

// HTTPRequest waits for a response, which HTTPReader reads in a goroutine of its own (net/http/transport.go), and
// DatabasePool for a free connection (database/sql/sql.go).
const (
	HTTPRequest  = "net/http.(*persistConn).roundTrip"
	HTTPReader   = "net/http.(*persistConn).readLoop"
	DatabasePool = "database/sql.(*DB).conn"
)

const maxGoFrames = 32

func idleGoroutine(wait string, stack []Frame) string {
	if wait == waitNothing {
		return IdleForever
	}
	inner := ""
	for _, f := range stack[:min(len(stack), maxGoFrames)] {
		from, next := nextOnConnection[f.Function]
		switch {
		case wait == waitIO && f.Function == "internal/poll.(*FD).Accept":
			return IdleAccept
		case wait == waitIO && next && (from == "" || from == inner):
			return IdleConnection
		case wait != waitIO && goroutineWorkWaits[f.Function]:
			return IdlePool
		}
		inner = f.Function
	}
	return ""
}
