// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net"
	"os"
	"strconv"
	"time"
)

// service sends its state to systemd (sd_notify(3)) until the process ends. conn is nil if no service manager asked.
type service struct{ conn net.Conn }

func openService(logf func(format string, args ...any)) (s service) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return s
	}
	conn, err := net.Dial("unixgram", path) // an @ is an abstract name
	if err != nil {
		logf("the service manager gets no notices: %v; without them it may end the agent: set Type=exec and "+
			"WatchdogSec=0", err)
		return s
	}
	return service{conn}
}

const notifyTimeout = 100 * time.Millisecond

// notify waits at most notifyTimeout for a manager that does not read: the next notice is a new try.
func (s service) notify(state string) {
	if s.conn == nil {
		return
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(notifyTimeout))
	_, _ = s.conn.Write([]byte(state))
}

// RefreshTimes returns the time between calls of [Agent.RefreshCut] that a window needs, and the most that systemd's
// watchdog allows; 0 means that none is set.
func RefreshTimes(window time.Duration) (every, within time.Duration) {
	every = max(window/refreshesPerWindow, 100*time.Millisecond)
	limit, err := strconv.ParseUint(os.Getenv("WATCHDOG_USEC"), 10, 50)
	if err != nil || limit == 0 {
		return every, 0
	}
	const tries = 3 // before the watchdog ends the agent
	within = time.Duration(limit) * time.Microsecond / tries
	return min(every, within), within
}

const refreshesPerWindow = 5
