// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

func startNaps(t *testing.T, threads int) (pid int) {
	t.Helper()
	exe, err := testtargets.Compile("naps.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, strconv.Itoa(threads), "100", "turns")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	testtargets.Ready(t, cmd)
	return cmd.Process.Pid
}

// anonymous is RssAnon of proc_pid_status(5), bytes.
func (a *agent) anonymous() int64 {
	a.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if err != nil {
		a.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kB, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				a.t.Fatal(err)
			}
			return kB << 10
		}
	}
	a.t.Fatal("no RssAnon in the agent's status")
	return 0
}

func (a *agent) lost() (n float64) {
	for _, why := range []string{"refused", "rejected", "unauthorized", "not_found", "too_large", "full", "damaged",
		"shutdown"} {
		n += a.metric(`lost_intervals_total{reason="` + why + `"}`)
	}
	return n
}

func (a *agent) windows(n float64) (least int64) {
	a.t.Helper()
	least = math.MaxInt64
	end := a.metric("windows_total") + n
	eventually(a.t, "the next windows", func() bool {
		least = min(least, a.anonymous())
		return a.metric("windows_total") >= end
	})
	return least
}

// Memory rises with garbage until a collection, then must come down to the bound.
func TestMemoryIsFlatWhileTheReceiverIsAway(t *testing.T) {
	t.Parallel()
	testtargets.OnlyInAll(t, "two minutes without a receiver")
	const (
		away    = 12      // windows: 60 s of 5 s each
		waiting = 8 << 20 // bytes of messages in memory at most, and as much garbage
	)
	for name, args := range map[string][]string{
		"files": {"--spool", filepath.Join(t.TempDir(), "spool")}, "memory": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t, "").start()
			l := startLoad(t)
			naps := startNaps(t, 50)
			a := startAgent(t, l, append(args, "-p", strconv.Itoa(naps), "--endpoint", "http://"+c.grpc)...)
			l.compute()
			eventually(t, "the recording is saved, for which symbols are loaded", func() bool {
				_, err := os.Stat(a.rec)
				return err == nil
			})
			before := a.windows(3)
			c.stop()
			l.compute()
			a.windows(away)
			during := int64(0)
			eventually(t, "memory is at most as before, with the messages and as much garbage", func() bool {
				during = a.anonymous()
				return during <= before+2*waiting
			})
			messages, size := a.metric("waiting_messages"), a.metric("waiting_bytes")
			c.start()
			eventually(t, "all messages are sent", func() bool { return a.metric("waiting_messages") == 0 })
			t.Logf("%v: %d MB before, %d MB at the end, %v messages of %v bytes waited", args, before>>20, during>>20,
				messages, size)
			if messages < away-2 {
				t.Errorf("%v: %v messages waited, want at least %d", args, messages, away-2)
			}
			lost := a.lost()
			a.end()
			received, recorded := c.sums(), a.recorded()
			for _, clock := range []string{"cpu", "wall", "runqueue"} {
				if got, want := ofClock(received, clock), ofClock(recorded, clock); got != want || want == 0 && clock == "cpu" {
					t.Errorf("%v: %d ns of %s received, want %d, as recorded", args, got, clock, want)
				}
			}
			if lost != 0 {
				t.Errorf("%v: %v intervals are lost, want none", args, lost)
			}
		})
	}
}
