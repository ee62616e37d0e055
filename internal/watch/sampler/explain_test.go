// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/walk/waits"
	"prywalk/report"
)

type mutexWaits struct{ all, owned, free atomic.Int64 } // samples

func (m *mutexWaits) Add(i profile.Interval) {
	if !strings.HasPrefix(i.WaitsFor, string(waits.Mutex)) {
		return
	}
	m.all.Add(i.Samples)
	switch {
	case i.Owner > 0:
		m.owned.Add(i.Samples)
	case i.Owner == profile.NoOwner:
		m.free.Add(i.Samples)
	}
}

// The owner is unknown only while a thread has the lock and has not written its ID.
func TestWaitsOfALockThatIsPassedOnTellWhoHadIt(t *testing.T) {
	p := testtargets.StartPassing(t, t.TempDir(), 8, 1000)
	const want = 3000
	var m mutexWaits
	enough := func(*Sampler) bool { return m.all.Load() >= want }
	r := run(t, Options{Freq: 99, Sinks: []profile.Sink{&m}}, enough, nil, p.PID)
	all, owned, free := m.all.Load(), m.owned.Load(), m.free.Load()
	t.Logf("of %d waits %d name an owner, in %d the lock was free", all, owned, free)
	if all < want || owned+free < all*99/100 {
		t.Error("see above")
	}
	for _, s := range r.Sample {
		if word := label(s, profile.LabelOwner); word != "" && (word != profile.OwnerNoneText ||
			len(s.NumLabel[profile.LabelOwner]) > 0) {
			t.Errorf("owner %q, %v", word, s.NumLabel)
		}
	}
}

func TestTheOpenOfANamedPipeNamesIt(t *testing.T) {
	fifo := testtargets.Fifo(t)
	cmd := exec.Command("sh", "-c", `echo ready; read line < "$0"`, fifo)
	testtargets.Ready(t, cmd)
	testtargets.Asleep(t, cmd.Process.Pid)
	r := run(t, Options{}, func(s *Sampler) bool { return s.Progress().Ticks >= 5 }, nil, cmd.Process.Pid)
	if len(r.Sample) == 0 {
		t.Error("no sample")
	}
	for _, s := range r.Sample {
		if label(s, "wait") != "openat" || label(s, "waits_for") != fifo {
			t.Errorf("%v, want openat of %s", s.Label, fifo)
		}
	}
}

func TestWaitsForALockNameItAndItsOwner(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "locked")
	if out, err := bounded.AllOutput(exec.Command("cc", "-g", "-O1", "-pthread", "-o", exe,
		"testdata/locked.c")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	r := record(t, Options{}, 3*time.Second, nil, cmd.Process.Pid)
	holder := int64(0)
	for _, s := range r.Sample {
		if label(s, "thread") == "holder" {
			holder = s.NumLabel["tid"][0]
		}
	}
	var blocked, named, owned int64
	for _, s := range r.Sample {
		if label(s, "wait") != "futex" {
			continue
		}
		ns := s.Value[1] - s.Value[2] - s.Value[3]
		blocked += ns
		if label(s, "waits_for") == "mutex cache_mu" {
			named += ns
		}
		switch owner := s.NumLabel["owner"]; {
		case len(owner) == 0:
		case owner[0] == holder:
			owned += ns
		case label(s, "thread") != "holder": // another waiter holds it briefly
			t.Logf("%v of %s: the lock was %d's", time.Duration(ns), label(s, "thread"), owner[0])
		}
	}
	if blocked == 0 || named != blocked || owned < blocked*8/10 {
		t.Errorf("of %v blocked, %v name the lock, and %v its holder", time.Duration(blocked), time.Duration(named),
			time.Duration(owned))
	}
	blame, err := report.Blame(r.Profile, &report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all, flush int64
	for _, s := range blame.Sample {
		all += s.Value[0]
		if in("flush_here")(s) {
			flush += s.Value[0]
		}
	}
	if all != blocked || flush < all*8/10 {
		t.Errorf("%v is blamed, %v of it on flush_here; %v were blocked", time.Duration(all), time.Duration(flush),
			time.Duration(blocked))
	}
}
