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
		a.Refresh(time.Now().UnixNano(), func(func(profile.Interval) bool) {})
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
	began := time.Now()
	s.notify("WATCHDOG=1")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("notify took %v", took)
	}
}

func TestRefreshesAreOftenEnoughForTheWatchdog(t *testing.T) {
	for _, c := range []struct {
		usec         string
		window, want time.Duration
	}{
		{"", 5 * time.Second, time.Second},
		{"", 10 * time.Millisecond, 100 * time.Millisecond},
		{"60000000", 5 * time.Second, time.Second},
		{"60000000", time.Hour, 20 * time.Second},
		{"0", time.Hour, 12 * time.Minute},
		{"no number", time.Hour, 12 * time.Minute},
		{"1125899906842623", time.Hour, 12 * time.Minute},
		{"18446744073709551615", time.Hour, 12 * time.Minute},
	} {
		t.Setenv("WATCHDOG_USEC", c.usec)
		if got := RefreshEvery(c.window); got != c.want {
			t.Errorf("WATCHDOG_USEC=%q, windows of %v: %v, want %v", c.usec, c.window, got, c.want)
		}
	}
}
