// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/internal/store/profile"
)

func TestServiceManagerLearnsThatTheAgentSamples(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "notify"), fmt.Sprintf("@prywalk-test-%d", os.Getpid())} {
		manager, err := net.ListenPacket("unixgram", path)
		if err != nil {
			t.Fatal(err)
		}
		defer manager.Close()
		t.Setenv("NOTIFY_SOCKET", path)
		a, err := New(Options{Receiver: Receiver{Endpoint: "http://localhost:4317", Protocol: GRPC, Timeout: time.Minute},
			Window: time.Hour, MaxMessage: 1 << 20, Flush: time.Millisecond, Logf: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		a.Start(time.Now(), time.Second, profile.NewBuilder(profile.Meta{Discard: true}), &slowResolver{})
		a.RefreshCut(time.Now().UnixNano(), func() {})
		a.Finish(time.Now())
		_ = manager.SetReadDeadline(time.Now().Add(time.Minute))
		for _, want := range []string{"READY=1", "WATCHDOG=1", "STOPPING=1"} {
			b := make([]byte, 100)
			n, _, err := manager.ReadFrom(b)
			if got := string(b[:n]); err != nil || got != want {
				t.Errorf("%s: %v, %q, want %s", path, err, got, want)
			}
		}
	}
}

func TestServiceManagerThatIsAwayOrDoesNotReadStopsNoSample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	t.Setenv("NOTIFY_SOCKET", path)
	var said []string
	s := openService(func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	s.notify("WATCHDOG=1")
	if len(said) != 1 || !strings.Contains(said[0], path) || !strings.Contains(said[0], "WatchdogSec=0") {
		t.Errorf("without a socket: %q", said)
	}
	manager, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	s = openService(t.Logf)
	// The queue is filled first.
	for full := false; !full; {
		_ = s.conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, err := s.conn.Write(make([]byte, 1000))
		full = err != nil
	}
	_ = s.conn.SetWriteDeadline(time.Time{}) // notify has to set its own
	began := time.Now()
	defer time.AfterFunc(time.Minute, func() { _ = s.conn.Close() }).Stop()
	s.notify("WATCHDOG=1")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("notify took %v", took)
	}
}

func TestRefreshesAreOftenEnoughForTheWatchdog(t *testing.T) {
	for _, c := range []struct {
		usec         string
		window, want time.Duration
		within       time.Duration
	}{
		{"", 5 * time.Second, time.Second, 0},
		{"", 10 * time.Millisecond, 100 * time.Millisecond, 0},
		{"60000000", 5 * time.Second, time.Second, 20 * time.Second},
		{"60000000", time.Hour, 20 * time.Second, 20 * time.Second},
		{"0", time.Hour, 12 * time.Minute, 0},
		{"no number", time.Hour, 12 * time.Minute, 0},
		{"1125899906842623", time.Hour, 12 * time.Minute, 1125899906842623 * time.Microsecond / 3},
		{"18446744073709551615", time.Hour, 12 * time.Minute, 0},
	} {
		t.Setenv("WATCHDOG_USEC", c.usec)
		if got, within := RefreshTimes(c.window); got != c.want || within != c.within {
			t.Errorf("WATCHDOG_USEC=%q, windows of %v: %v within %v, want %v, %v", c.usec, c.window, got, within,
				c.want, c.within)
		}
	}
}
